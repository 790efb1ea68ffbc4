import { systemTimer } from '@gatehouse/runtime'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { textPart, toJson, toJsonArray, type ArchivePart, type Judge } from './archive.ts'

const notice = 'This service did not give all of its data. Ask for an export again later.'

type Reading = { userId: string; judge: Judge }
type Progress = { isComplete: boolean }

/** A page of one upstream at a time. What is missing is named by a file of its own. Contract: 3, export. */
export async function* upstreamParts(deps: Pick<Deps, 'upstreams'>, reading: Reading): AsyncGenerator<ArchivePart> {
  for (const upstream of deps.upstreams.answering('export')) {
    const progress: Progress = { isComplete: false }
    yield textPart(`services/${upstream}.json`, toJsonArray(readPages(deps, upstream, { ...reading, progress })))
    if (!progress.isComplete) yield textPart(`services/${upstream}.incomplete.json`, toJson({ upstream, notice }))
  }
}

/** Ends early where no page comes, and beyond the limits. */
async function* readPages(
  { upstreams }: Pick<Deps, 'upstreams'>,
  upstream: string,
  { userId, judge, progress }: Reading & { progress: Progress },
): AsyncGenerator<object[]> {
  let after: string | undefined
  let waitedMs = 0
  for (let page = 0; page < policy.exportPagesOfUpstream && waitedMs < policy.exportUpstreamMs; page += 1) {
    await judge()
    const startedAt = systemTimer.now()
    const answer = await upstreams.ask(upstream, 'export', { userId, ...(after !== undefined && { after }) })
    waitedMs += systemTimer.now() - startedAt
    if (!answer) return
    if (answer.rows.length > 0) yield answer.rows
    after = answer.next
    if (after !== undefined) continue
    progress.isComplete = true
    return
  }
}
