"""Hosts, streams, events and collectives, run in program order: who launches when, what waits for what.

Each process has a program. Where its host waits for GPU operations whose times another rank decides, it gives its turn
away; one program runs at a time and turns go round in order, so that a run depends on nothing but the seed.
"""

import threading
from collections import deque

from . import device

QUEUE_LIMIT = 1024  # launches a context holds before the next launch blocks
CBID = {
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
    "cudaMemcpyAsync": 41,
    "cudaMemsetAsync": 51,
    "cudaEventRecordWithFlags": 370,
    "cudaStreamWaitEvent": 147,
    "cudaStreamSynchronize": 131,
    "cudaDeviceSynchronize": 165,
    "cudaGraphLaunch": 311,
    "cudaStreamIsCapturing": 317,
    "cuLaunchKernel": 307,
}


class GpuOp:
    """One operation on a stream; `start` and `end` are None until everything it waits for is known."""

    __slots__ = (
        "api",
        "cat",
        "name",
        "stream",
        "dur",
        "ready",
        "gap",
        "waits",
        "group",
        "args",
        "arrival",
        "start",
        "end",
        "external",
        "annotations",
    )

    def __init__(self, cat, name, stream, dur, args):
        self.cat, self.name, self.stream, self.dur, self.args = cat, name, stream, dur, args
        self.waits, self.group = (), None
        self.ready = self.gap = 0
        self.arrival = self.start = self.end = None
        self.api = self.external = None
        self.annotations = ()


class Stream:
    def __init__(self, number):
        self.number = number
        self.queue = deque()
        self.free = None
        self.last = None
        self.waits = []


class Collective:
    """Kernels of all ranks run until the last has come and the data have moved: they end together."""

    def __init__(self, ranks, dur):
        self.ranks, self.dur, self.members = ranks, dur, []


class Event:
    __slots__ = ("id", "record", "stream", "op")

    def __init__(self, number, record, stream):
        self.id, self.record, self.stream, self.op = number, record, stream.number, stream.last


class Process:
    """One rank: a host process that drives one GPU."""

    def __init__(self, machine, pid, index, start):
        self.machine, self.pid, self.device, self.start = machine, pid, index, start
        self.gpu = machine.gpu
        self.noise = machine.noise_of(index)
        self.board = 1.0 if machine.ranks == 1 else self.noise.between(0.995, 1.008, "board")
        self.correlation = 1000 + 1000000 * index
        self.external = 1000000 * index
        self.record_id = 0
        self.next_event = 1
        self.streams = {}
        self.threads = []
        self.launched = []
        self.spans, self.calls, self.ops, self.syncs = [], [], [], []

    def thread(self, tid, start=None):
        t = Thread(self, tid, self.start if start is None else start)
        self.threads.append(t)
        return t

    def stream(self, number):
        if number not in self.streams:
            self.streams[number] = Stream(number)
        return self.streams[number]


class Call:
    """A runtime or driver API call."""

    __slots__ = ("tid", "cat", "name", "start", "dur", "correlation", "external", "ops")

    def __init__(self, tid, name, start, dur, correlation, external):
        self.tid, self.name, self.start, self.dur = tid, name, start, dur
        self.cat = "cuda_driver" if name.startswith("cuL") else "cuda_runtime"
        self.correlation, self.external, self.ops = correlation, external, []


class Span:
    """A host operator or annotation, as a context manager: what runs inside nests inside."""

    __slots__ = ("thread", "cat", "name", "args", "start", "dur", "id", "before", "after", "flow")

    def __init__(self, thread, cat, name, args, before, after):
        self.thread, self.cat, self.name, self.args = thread, cat, name, args
        self.before, self.after = before, after
        self.flow = None

    def __enter__(self):
        t, p = self.thread, self.thread.process
        t.busy(self.before * 0.3)
        self.start = t.now
        p.external += 1
        self.id = p.external
        p.spans.append(self)
        t.stack.append(self)
        t.busy(self.before * 0.7)
        return self

    def __exit__(self, *_):
        t = self.thread
        t.busy(self.after)
        self.dur = t.now - self.start
        t.stack.pop()
        t.now += 40


class Thread:
    """A host thread: a clock in nanoseconds and the operators it is in."""

    def __init__(self, process, tid, start):
        self.process, self.tid, self.now, self.stack = process, tid, start, []

    def busy(self, micros, sigma=0.12):
        """Host work: jitter, and now and then the operating system takes its share."""
        n = self.process.noise
        ns = micros * 1000.0 * n.spread(sigma)
        if micros > 0.5 and n.chance(0.0012):
            ns += n.uniform(20e3, 90e3)
        self.now += max(30, int(ns + 0.5))

    def op(self, name, *, before=3.6, after=2.0, **args):
        return Span(self, "cpu_op", name, args, before, after)

    def annotate(self, name):
        return Span(self, "user_annotation", name, {}, 2.0, 1.5)

    def _operator(self):
        for span in reversed(self.stack):
            if span.cat == "cpu_op":
                return span.id
        return None

    def call(self, name, micros):
        """An API call that does not block."""
        p = self.process
        p.correlation += 1
        self.busy(0.3)
        c = Call(self.tid, name, self.now, 0, p.correlation, self._operator())
        self.busy(micros)
        c.dur = self.now - c.start
        p.calls.append(c)
        return c

    def _enqueue(self, call, op, stream, latency):
        p, s = self.process, self.process.stream(stream)
        op.api, op.external = call, call.external
        op.annotations = tuple(a for a in self.stack if a.cat == "user_annotation")
        op.ready = call.start + int(latency * 1000.0 * p.noise.spread(0.06))
        op.gap = int(p.noise.uniform(700, 1500))
        op.waits = tuple(s.waits)
        s.waits = []
        s.queue.append(op)
        s.last = op
        call.ops.append(op)
        p.ops.append(op)

    def _room(self, call):
        """The launch blocks while the queue of the context is full; True if it did."""
        p = self.process
        if len(p.launched) >= QUEUE_LIMIT:
            head = p.launched[-QUEUE_LIMIT]
            p.machine.wait_for([head])
            if head.start > self.now:
                self.now = head.start + int(p.noise.uniform(1500, 4000))
                call.dur = self.now - call.start
                return True
        return False

    def launch(self, kernel, stream, *, api="cudaLaunchKernel", micros=4.6):
        p = self.process
        call = self.call(api, micros)
        blocked = self._room(call)
        op = kernel_op(p, kernel, stream)
        self._enqueue(call, op, stream, 5.6)
        if blocked:
            op.ready = self.now + 1500
        p.launched.append(op)
        return op

    def launch_collective(self, kernel, stream, key, message_bytes):
        m = self.process.machine
        op = self.launch(kernel, stream, api="cudaLaunchKernelExC", micros=7.5)
        if key not in m.collectives:
            m.collectives[key] = Collective(m.ranks, device.all_reduce_ns(m.gpu, message_bytes, m.ranks, m.shared))
        op.group = m.collectives[key]
        return op

    def launch_graph(self, kernels, stream, micros):
        """One cudaGraphLaunch: all kernels carry its correlation and run one after another."""
        p = self.process
        call = self.call("cudaGraphLaunch", micros)
        ops = []
        for node, kernel in enumerate(kernels):
            op = kernel_op(p, kernel, stream)
            op.args["graph node id"] = node + 1
            op.args["graph id"] = 1
            self._enqueue(call, op, stream, 9.0)
            op.gap = int(p.noise.uniform(600, 1200))
            ops.append(op)
        return ops

    def copy(self, kind, size, stream, micros=6.0):
        """kind as Kineto names it: 'HtoD (Pinned -> Device)', ..."""
        p = self.process
        call = self.call("cudaMemcpyAsync", micros)
        dur = device.copy_ns(p.gpu, size, p.machine.shared, p.noise, host="DtoD" not in kind)
        op = GpuOp("gpu_memcpy", "Memcpy " + kind, stream, dur, {"bytes": size, "memory bandwidth (GB/s)": size / dur})
        self._enqueue(call, op, stream, 6.2)
        return op

    def record(self, stream):
        p = self.process
        call = self.call("cudaEventRecordWithFlags", 1.2)
        event = Event(p.next_event, call.correlation, p.stream(stream))
        p.next_event += 1
        return event

    def wait(self, stream, event):
        """The stream waits on the device; the host goes on."""
        p = self.process
        call = self.call("cudaStreamWaitEvent", 1.1)
        if event.op is not None:
            p.stream(stream).waits.append(event.op)
        start = call.start + call.dur // 3
        p.syncs.append(
            (
                "Stream Wait Event",
                stream,
                start,
                call.dur // 3,
                call,
                {
                    "wait_on_stream": event.stream,
                    "wait_on_cuda_event_record_corr_id": event.record,
                    "wait_on_cuda_event_id": event.id,
                },
            )
        )

    def synchronize(self, stream=None):
        """Blocks the host until the stream (or all streams) ran dry."""
        p = self.process
        call = self.call("cudaDeviceSynchronize" if stream is None else "cudaStreamSynchronize", 2.2)
        which = p.streams.values() if stream is None else [p.stream(stream)]
        ops = [s.last for s in which if s.last is not None]
        p.machine.wait_for(ops)
        done = max((o.end for o in ops), default=0)
        if done > self.now:
            self.now = done + int(p.noise.uniform(3200, 6500))
        self.busy(0.8)
        call.dur = self.now - call.start
        kind, where = ("Context Sync", -1) if stream is None else ("Stream Sync", stream)
        p.syncs.append((kind, where, call.start + 700, call.dur - 1100, call, {}))


def kernel_op(process, k, stream):
    gpu, blocks = process.gpu, device.blocks_of(k)
    threads = k.block[0] * k.block[1] * k.block[2]
    warps = blocks * ((threads + 31) // 32) / gpu.sms
    args = {
        "registers per thread": k.registers,
        "shared memory": k.shared,
        "blocks per SM": round(blocks / gpu.sms, 6),
        "warps per SM": round(warps, 6),
        "grid": list(k.grid),
        "block": list(k.block),
        "est. achieved occupancy %": min(100, int(100 * min(warps, 65536 // (k.registers * 32)) / 64)),
    }
    args.update(k.extra)
    dur = device.duration_ns(gpu, k, process.machine.shared, process.noise, process.board)
    return GpuOp("kernel", k.name, stream, dur, args)


class Machine:
    def __init__(self, seed, name, gpu, ranks, noise):
        self.seed, self.name, self.gpu, self.ranks = seed, name, gpu, ranks
        self._noise = noise
        self.shared = noise(seed, name, "shared")
        self.collectives = {}
        self.processes = []
        self._turns, self._current = [], None

    def noise_of(self, rank):
        return self._noise(self.seed, self.name, rank)

    def process(self, pid, start):
        p = Process(self, pid, len(self.processes), start)
        self.processes.append(p)
        return p

    def run(self, programs):
        """Runs the programs, in turns, until all have ended; raises what one of them raised."""
        self._turns = [_Turn(program) for program in programs]
        while any(t.alive for t in self._turns):
            moved = False
            for self._current in self._turns:
                if self._current.alive and all(o.end is not None for o in self._current.waits_for):
                    moved = True
                    self._current.go_on()
            self.resolve()
            if not moved and not any(t.alive and all(o.end is not None for o in t.waits_for) for t in self._turns):
                raise RuntimeError("deadlock: a rank waits for a collective that another never reaches")

    def wait_for(self, ops):
        """Returns when the operations have their times; called by the program whose turn it is."""
        self.resolve()
        if any(o.end is None for o in ops):
            self._current.give_away(ops)

    def resolve(self):
        """Gives times to all operations whose predecessors have theirs."""
        moved = True
        while moved:
            moved = False
            for p in self.processes:
                for s in p.streams.values():
                    while s.queue and self._place(p, s, s.queue[0]):
                        op = s.queue.popleft()
                        s.free = op.end
                        moved = True

    def _place(self, process, stream, op):
        if any(w.end is None for w in op.waits):
            return False
        if op.arrival is None:
            op.arrival = op.ready
            if stream.free is not None:
                op.arrival = max(op.arrival, stream.free + op.gap)
            for w in op.waits:
                op.arrival = max(op.arrival, w.end + op.gap)
            if op.group is not None:
                op.group.members.append(op)
        if op.group is None:
            op.start, op.end = op.arrival, op.arrival + op.dur
            return True
        if len(op.group.members) < op.group.ranks:
            return False
        op.start = op.arrival
        op.end = max(m.arrival for m in op.group.members) + op.group.dur + 90 * process.device
        return True


class _Turn:
    """A program in a thread of its own that runs only between `go_on` and its next `give_away`."""

    def __init__(self, program):
        self.alive, self.waits_for, self._error = True, (), None
        self._mine, self._back = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._run, args=(program,), daemon=True).start()

    def _run(self, program):
        self._mine.acquire()
        try:
            program()
        except BaseException as error:  # handed to the caller of go_on
            self._error = error
        self.alive = False
        self._back.release()

    def go_on(self):
        self.waits_for = ()
        self._mine.release()
        self._back.acquire()
        if self._error is not None:
            raise self._error

    def give_away(self, ops):
        self.waits_for = ops
        self._back.release()
        self._mine.acquire()
