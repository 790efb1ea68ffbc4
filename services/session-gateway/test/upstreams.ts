import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectUpstream, type UpstreamConnection } from '@gatehouse/upstream'
import type { Cluster, Node } from './harness.ts'

/** The metric of messages in both directions. */
export const total = 'gatehouse_upstream_messages_total'

export type UpstreamEntry = {
  name: string
  messages?: string[]
  ready?: string[]
  events?: string[]
  answers?: string[]
}

/** A file of upstreams, and connections of them; all end with it. */
export async function openUpstreams(cluster: Cluster, entries: UpstreamEntry[]) {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-upstreams-'))
  opening.defer(() => rm(folder, { recursive: true }))
  const path = join(folder, 'upstreams.json')
  const errors: unknown[] = []

  async function write(given: UpstreamEntry[] | string): Promise<void> {
    const upstreams = typeof given === 'string' ? given : given.map(complete)
    await writeFile(path, JSON.stringify({ upstreams }))
  }

  await write(entries)
  const open = opening.move()
  return {
    path,
    /** What the connections' handlers threw. */
    errors,
    write,
    async connect(name: string): Promise<UpstreamConnection> {
      const { natsUrl, natsPrefix: prefix } = cluster
      return open.use(await connectUpstream({ natsUrl, prefix, name, onError: (error) => errors.push(error) }))
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

function complete(entry: UpstreamEntry): object {
  return { origins: ['http://127.0.0.1:9000'], routes: [], ...entry }
}

/** The counter of one upstream and outcome on a node. */
export async function countOf(
  { resources }: Node,
  metric: string,
  upstream: string,
  outcome: string,
  question?: string,
): Promise<number> {
  const { text } = await resources.metrics.render()
  const asked = question === undefined ? '' : `question="${question}",`
  const line = `${metric}{upstream="${upstream}",${asked}outcome="${outcome}"} `
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(line))
      ?.slice(line.length) ?? 0,
  )
}
