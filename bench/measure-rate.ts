/** Does `work` again and again in so many lanes for `ms` milliseconds; gives how often a second it was done. */
export async function measureRate(options: { lanes: number; ms: number; work: () => Promise<void> }): Promise<number> {
  const started = performance.now()
  let count = 0
  const lane = async () => {
    while (performance.now() - started < options.ms) {
      await options.work()
      count += 1
    }
  }
  await Promise.all(Array.from({ length: options.lanes }, lane))
  return (count * 1000) / (performance.now() - started)
}
