"""Writes generated Kineto traces: a small simulation of hosts, streams and collectives over real layer shapes."""
