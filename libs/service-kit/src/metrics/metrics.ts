import { version } from '@gatehouse/runtime'
import { droppedLogLines } from '../log/log.ts'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics, type Metric } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>
type Series = { labels: Record<string, string>; read: () => Promise<number> }

type Row = { labels: Record<string, string>; value: number }

const latencyBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

let ofProcess: readonly Metric[] | undefined

/** Memory, garbage collection, event loop. Their timer and observer last as long as the process: there is one of each. */
function processMetrics(): readonly Metric[] {
  if (ofProcess) return ofProcess
  const register = new Registry()
  // Milliseconds. The default wakes an idle process a hundred times a second.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 50 })
  return (ofProcess = register.getMetricsAsArray() as unknown as Metric[])
}

/** The same name gives the same metric, so that services can share a process. */
export function createMetrics() {
  const registry = new Registry()
  for (const metric of processMetrics()) registry.registerMetric(metric)
  const registers = [registry]
  new Gauge({
    name: 'gatehouse_log_lines_dropped',
    help: 'Lines of the log that were not written, because the reader of standard output was late or gone',
    registers,
    collect() {
      this.set(droppedLogLines())
    },
  })
  const build = { version, node: process.versions.node }
  const buildInfo = { name: 'gatehouse_build_info', help: 'Release and version of Node, always 1', registers }
  new Gauge({ ...buildInfo, labelNames: Object.keys(build) }).set(build, 1)
  const labeled = new Map<string, Map<string, Series>>()
  const getOrCreate = <M extends Metric>(name: string, create: () => M): M =>
    (registry.getSingleMetric(name) as M | undefined) ?? create()
  return {
    counter: (name: string, help: string, labels: readonly string[] = []): Counter =>
      getOrCreate(name, () => new Counter({ name, help, labelNames: [...labels], registers })),
    gauge: (name: string, help: string, read?: () => number | Promise<number>): Gauge => {
      const collect = async function (this: Gauge) {
        if (read) this.set(await read())
      }
      return getOrCreate(name, () => new Gauge({ name, help, registers, ...(read && { collect }) }))
    },
    /** The first `read` of the same labels stays. */
    labeledGauge: (name: string, help: string, labels: Record<string, string>, read: () => Promise<number>): void => {
      const series = labeled.get(name) ?? new Map<string, Series>()
      const key = JSON.stringify(labels)
      if (!series.has(key)) series.set(key, { labels, read })
      if (labeled.has(name)) return
      labeled.set(name, series)
      const labelNames = Object.keys(labels)
      const collect = async function (this: Gauge) {
        await Promise.all([...series.values()].map(async (one) => this.set(one.labels, await one.read())))
      }
      new Gauge({ name, help, registers, labelNames, collect })
    },
    /** One value for each row that `read` finds, as they come and go. The first `read` stays. */
    rowsGauge: (name: string, help: string, labels: readonly string[], read: () => Promise<Row[]>): void => {
      const collect = async function (this: Gauge) {
        const rows = await read().catch(() => [])
        this.reset()
        for (const { labels: of, value } of rows) this.set(of, value)
      }
      getOrCreate(name, () => new Gauge({ name, help, registers, labelNames: [...labels], collect }))
    },
    histogram: (name: string, help: string, labels: readonly string[] = [], buckets = latencyBuckets): Histogram =>
      getOrCreate(name, () => new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers })),
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
