/** What a client waits for. `events`: another user's change reaches a socket. */
export const activities = ['writes', 'reads', 'sockets', 'events'] as const
export type Activity = (typeof activities)[number]

type AwayMs = Readonly<Record<Activity, number>>

export type AwayTimes = {
  /** Something was answered at this gateway. */
  answered(activity: Activity, gateway: string): void
  /** From here on, until the next one. */
  begin(fault: string): void
  /** Since this time, everything was answered at every gateway. */
  isBackSince(time: number): boolean
  /** By kind of fault, of each time that it happened. The one under way ends. */
  end(): Map<string, AwayMs[]>
}

/** The longest time without an answer, during each fault, at the gateway that was worst off. `now` in milliseconds. */
export function createAwayTimes(gateways: readonly string[], now: () => number): AwayTimes {
  const awayTimes = new Map<string, AwayMs[]>()
  const lines = activities.flatMap((activity) =>
    gateways.map((gateway) => ({ activity, gateway, answeredAt: now(), longest: 0 })),
  )
  let fault: string | undefined

  function close(): void {
    const at = now()
    for (const line of lines) line.longest = Math.max(line.longest, at - line.answeredAt)
    const worst = (activity: Activity) =>
      Math.max(...lines.filter((line) => line.activity === activity).map(({ longest }) => longest))
    const ended = Object.fromEntries(activities.map((activity) => [activity, worst(activity)])) as AwayMs
    if (fault !== undefined) awayTimes.set(fault, [...(awayTimes.get(fault) ?? []), ended])
    fault = undefined
    for (const line of lines) Object.assign(line, { answeredAt: at, longest: 0 })
  }

  return {
    answered(activity, gateway) {
      const line = lines.find((each) => each.activity === activity && each.gateway === gateway)!
      line.longest = Math.max(line.longest, now() - line.answeredAt)
      line.answeredAt = now()
    },
    begin(next) {
      close()
      fault = next
    },
    isBackSince: (time) => lines.every(({ answeredAt }) => answeredAt > time),
    end() {
      close()
      return awayTimes
    },
  }
}

/** A table in Markdown, the longest times first. */
export function formatAwayTimes(awayTimes: ReadonlyMap<string, readonly AwayMs[]>): string {
  const rows = [...awayTimes].map(([fault, all]) => {
    const times = activities.map((activity) => all.map((each) => each[activity]).sort((a, b) => a - b))
    return { fault, count: all.length, worst: Math.max(...times.flat()), cells: times.map(formatTimes) }
  })
  const header = ['fault', 'times', ...activities]
  return [
    header,
    header.map(() => '---'),
    ...rows.sort((a, b) => b.worst - a.worst).map(({ fault, count, cells }) => [fault, String(count), ...cells]),
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

function formatTimes(sorted: readonly number[]): string {
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  const worst = sorted.at(-1) ?? 0
  return sorted.length === 1 ? seconds(worst) : `${seconds(median)}, ${seconds(worst)}`
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
