import { readFileSync, readdirSync } from 'node:fs'

/** By the command line; the first that fits. */
const kinds: readonly (readonly [kind: string, command: RegExp])[] = [
  ['the run itself', /\/test-runner\/(?:main|grown-databases)\.ts/],
  ['test processes', /\/mocha-process\.ts\b/],
  ['Chromium', /chrom/],
  ['Firefox', /firefox/],
  ['WebKit', /WebKit|MiniBrowser|Xvfb/],
  ['hashing', /\/hashing-process[.-]/],
  ['initdb', /\/initdb |\/postgres"? --(?:boot|single|check)/],
  ['PostgreSQL', /\/postgres |^postgres: /],
  ['NATS', /nats-server/],
  ['Redis', /redis-server/],
  ['embedded instances', /\/deploy\/(?:embedded\/main|test-programs\/embedded)\./],
  ['command line', /\/deploy\/cli\/main\./],
  ['services as programs', /\/(?:(?:gateway|services\/[\w-]+)\/src\/main|test-programs\/identity)\./],
  ['releases', /\/tools\/release\/main\./],
  ['watchdogs', /\/watchdog-process[.-]/],
]
/** Their children are of the same kind. */
const families = new Set(['Chromium', 'Firefox', 'WebKit', 'initdb', 'PostgreSQL'])

const intervalMs = 500
const ticksPerSecond = 100

type Process = {
  kind: string
  parent: Process | undefined
  startedAt: string
  /** In ticks. */
  own: number
  /** Of children that it has waited for, and of theirs: the kernel adds them up. */
  ofEnded: number
  /** The part of it that stands in the entries of these children. */
  ofSeen: number
  looks: number
  hasEnded: boolean
}

export type ProcessorTime = { kind: string; seconds: number; processes: number }

/**
 * Follows the processes below this one; only Linux tells. `stop` gives the seconds of each kind, most first. What a process
 * took that ended between two looks is known from its parent: it is of the parent's kind in a family, else "not seen".
 */
export function watchProcessorTime(): { look(): void; stop(): ProcessorTime[] } {
  if (process.platform !== 'linux') return { look: () => undefined, stop: () => [] }
  const all: Process[] = []
  const running = new Map<string, Process>()
  const foreign = new Set<string>()

  function look(): void {
    const pids = new Set(readdirSync('/proc').filter((name) => /^\d/.test(name)))
    // Children, which are later in the list, before their parents.
    for (const pid of [...running.keys()].reverse()) if (!pids.has(pid)) end(pid)
    for (const pid of foreign) if (!pids.has(pid)) foreign.delete(pid)
    for (const pid of pids) if (!foreign.has(pid)) visit(pid)
  }

  function visit(pid: string): void {
    const stat = readStat(pid)
    // Another process has got its number.
    if (running.has(pid) && running.get(pid)?.startedAt !== stat?.startedAt) end(pid)
    if (!stat) return
    const observed = running.get(pid) ?? begin(pid, stat)
    if (!observed) return
    observed.looks += 1
    // A new process may still have the command line of its parent.
    if (observed.looks <= 2) observed.kind = kindOf(pid)
    Object.assign(observed, { own: stat.own, ofEnded: stat.ofEnded })
  }

  function begin(pid: string, { parentPid, startedAt }: Stat): Process | undefined {
    const parent = running.get(parentPid)
    if (!parent && pid !== String(process.pid)) {
      foreign.add(pid)
      return undefined
    }
    const begun = { kind: 'other', parent, startedAt, own: 0, ofEnded: 0, ofSeen: 0, looks: 0, hasEnded: false }
    running.set(pid, begun)
    all.push(begun)
    return begun
  }

  function end(pid: string): void {
    const ended = running.get(pid)
    running.delete(pid)
    if (!ended) return
    ended.hasEnded = true
    // Nobody who is left has waited for a child of a process that ended before it.
    if (ended.parent && !ended.parent.hasEnded) ended.parent.ofSeen += ended.own + Math.max(ended.ofEnded, ended.ofSeen)
  }

  look()
  const timer = setInterval(look, intervalMs).unref()
  return {
    look,
    stop() {
      clearInterval(timer)
      look()
      return sumUp(all)
    },
  }
}

type Stat = { parentPid: string; startedAt: string; own: number; ofEnded: number }

function readStat(pid: string): Stat | undefined {
  const stat = read(`/proc/${pid}/stat`)
  // The second field may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const { 1: parentPid, 11: user, 12: system, 13: userOfEnded, 14: systemOfEnded, 19: startedAt } = fields
  if (parentPid === undefined || startedAt === undefined) return undefined
  return {
    parentPid,
    startedAt,
    own: Number(user) + Number(system),
    ofEnded: Number(userOfEnded) + Number(systemOfEnded),
  }
}

function kindOf(pid: string): string {
  const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
  return kinds.find(([, pattern]) => pattern.test(command))?.[0] ?? 'other'
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it has ended
  }
}

function sumUp(all: readonly Process[]): ProcessorTime[] {
  const times = new Map<string, ProcessorTime>()
  const add = (kind: string, ticks: number, processes: number) => {
    const time = times.get(kind) ?? { kind, seconds: 0, processes: 0 }
    times.set(kind, time)
    time.seconds += ticks / ticksPerSecond
    time.processes += processes
  }
  for (const { kind, own, ofEnded, ofSeen } of all) {
    add(kind, own, 1)
    add(families.has(kind) ? kind : 'not seen', Math.max(0, ofEnded - ofSeen), 0)
  }
  return [...times.values()].toSorted((one, other) => other.seconds - one.seconds)
}
