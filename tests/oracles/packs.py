"""The contract of pack files in a second language: re-timing, and a mixed-integer program of all plans."""
import os

TOLERANCE = 1e-9


def quiet(make):
    """Calls `make` with stdout closed: HiGHS greets from C++ before it can be told not to."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        return make()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def retime(problem, clocks):
    """Time, energy, switches and whether all runs are long enough, for one clock a pack."""
    switch = problem.get("switch", {})
    change_s, change_j = switch.get("time_s", 0), switch.get("energy_j", 0)
    shortest = switch.get("min_run_s", 0) * (1 - TOLERANCE)
    repeats = problem.get("repeats", False)
    end, energy, switches = {}, 0.0, 0
    chosen = []
    for pack, clock in zip(problem["packs"], clocks):
        chosen.append(next(o for o in pack["options"] if o["clock_hz"] == clock))
    on_gpu = {g["id"]: [i for i, p in enumerate(problem["packs"]) if p["gpu"] == g["id"]] for g in problem["gpus"]}
    before = {}
    for packs in on_gpu.values():
        before.update(zip(packs[1:], packs))
    for i, (pack, option) in enumerate(zip(problem["packs"], chosen)):
        starts = [0.0] + [end[a["pack"]] + a.get("lag_s", 0) for a in pack.get("after", [])]
        if i in before:
            changes = clocks[before[i]] != clocks[i]
            starts.append(end[problem["packs"][before[i]]["id"]] + changes * change_s)
            switches += changes
        end[pack["id"]] = max(starts) + option["time_s"]
        energy += option["energy_j"]
    makespan = max(end.values())
    long_enough = True
    for packs in on_gpu.values():
        if not packs:
            continue
        runs = []
        for i in packs:
            if runs and clocks[i] == runs[-1][0]:
                runs[-1][1] += chosen[i]["time_s"]
            else:
                runs.append([clocks[i], chosen[i]["time_s"]])
        if repeats and len(runs) > 1:
            if runs[0][0] == runs[-1][0]:
                runs[0][1] += runs.pop()[1]
            else:
                switches += 1
                makespan = max(makespan, end[problem["packs"][packs[-1]]["id"]] + change_s)
        long_enough &= len(runs) == 1 or all(t >= shortest for _, t in runs)
    energy += switches * change_j
    for gpu in problem["gpus"]:
        energy += gpu["idle_power_w"] * (makespan - sum(chosen[i]["time_s"] for i in on_gpu[gpu["id"]]))
    return makespan, energy, switches, long_enough


def highs_optimum(problem, deadline_s, seconds=20.0):
    """Least energy that HiGHS proves, None where it proves that there is no plan, "open" where it runs out of time."""
    import highspy

    switch = problem.get("switch", {})
    change_s, change_j = switch.get("time_s", 0) * 1e3, switch.get("energy_j", 0)
    shortest = switch.get("min_run_s", 0) * 1e3 * (1 - TOLERANCE)
    repeats = problem.get("repeats", False)
    packs = problem["packs"]
    limit = deadline_s * 1e3 * (1 + TOLERANCE)  # times in ms: the tolerances of the solver are absolute
    h = quiet(highspy.Highs)
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 0.0)
    h.setOptionValue("mip_abs_gap", 1e-9)
    h.setOptionValue("mip_feasibility_tolerance", 1e-9)
    h.setOptionValue("primal_feasibility_tolerance", 1e-9)
    h.setOptionValue("time_limit", seconds)
    h.setOptionValue("threads", 1)
    idle = {g["id"]: g["idle_power_w"] * 1e-3 for g in problem["gpus"]}
    span = h.addVariable(lb=0, ub=limit, obj=sum(idle.values()))
    x, start, length = [], [], []
    for pack in packs:
        row = {o["clock_hz"]: h.addBinary(obj=o["energy_j"] - idle[pack["gpu"]] * o["time_s"] * 1e3) for o in pack["options"]}
        x.append(row)
        h.addConstr(sum(row.values()) == 1)
        start.append(h.addVariable(lb=0, ub=h.inf))
        length.append(sum(o["time_s"] * 1e3 * row[o["clock_hz"]] for o in pack["options"]))
    index = {p["id"]: i for i, p in enumerate(packs)}
    for i, pack in enumerate(packs):
        h.addConstr(span >= start[i] + length[i])
        for a in pack.get("after", []):
            j = index[a["pack"]]
            h.addConstr(start[i] >= start[j] + length[j] + a.get("lag_s", 0) * 1e3)
    for gpu in problem["gpus"]:
        mine = [i for i, p in enumerate(packs) if p["gpu"] == gpu["id"]]
        n = len(mine)
        if n < 2:
            continue
        some = h.addVariable(lb=0, ub=1)  # the GPU changes its clock somewhere
        for k in range(n if repeats else n - 1):
            a, b = (mine[k - 1], mine[k]) if repeats else (mine[k], mine[k + 1])
            change = h.addVariable(lb=0, ub=1, obj=change_j)
            for clock, binary in x[b].items():
                h.addConstr(change >= binary - x[a].get(clock, 0))
            h.addConstr(some >= change)
            if repeats and k == 0:
                h.addConstr(span >= start[a] + length[a] + change_s * change)
            else:
                h.addConstr(start[b] >= start[a] + length[a] + change_s * change)
        if shortest <= 0:
            continue
        # Wherever a run begins at pack k, all packs that make it long enough have its clock.
        for k in range(n):
            for clock, binary in x[mine[k]].items():
                if k > 0 or repeats:
                    begins = h.addVariable(lb=0, ub=1)
                    h.addConstr(begins >= binary - x[mine[k - 1]].get(clock, 0))
                else:
                    begins = h.addVariable(lb=0, ub=1)
                    h.addConstr(begins >= binary + some - 1)
                total, reached = 0.0, False
                for d in range(n):
                    if k + d >= n and not repeats:
                        break
                    i = mine[(k + d) % n]
                    if clock not in x[i]:
                        break
                    h.addConstr(x[i][clock] >= begins)
                    total += next(o["time_s"] * 1e3 for o in packs[i]["options"] if o["clock_hz"] == clock)
                    if total >= shortest:
                        reached = True
                        break
                if not reached:
                    h.addConstr(begins <= 0)
    h.minimize()
    status = h.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        return "open"
    return h.getInfo().objective_function_value
