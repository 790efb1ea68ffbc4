import type { AccountState } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { Invite, sanitizeUser } from '@gatehouse/domain'
import { deriveInviteStatus } from '@gatehouse/invites'
import { systemTimer } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { loadUser } from '../../queries/load-user.ts'
import { jsonPart, rowsPart, type ArchivePart } from './archive.ts'
import { fillIn, ownFiles, ownRows, type OwnRows } from './own-rows.ts'

type PartDeps = Pick<OperationContext, 'orm' | 'clock'> & Pick<Deps, 'config' | 'uploadStore' | 'upstreams'>

/** Throws account_deleted, token_revoked. */
type Judge = () => Promise<AccountState>

type Reading = { userId: string; judge: Judge }

type Row = Record<'id' | 'userId' | 'filename', string> & { filenames?: string[] }

/** The caller is judged again before each file and each page. Contract: 3, export. */
export async function* ownParts(deps: PartDeps, userId: string, judge: Judge): AsyncGenerator<ArchivePart> {
  const reading = { userId, judge }
  await judge()
  yield jsonPart('account.json', await readAccount(deps, userId))
  yield rowsPart('invites.json', invitePages(deps, reading))
  for (const rows of ownRows) yield rowsPart(rows.file, rowPages(deps, rows, reading))
  for (const files of ownFiles) {
    for await (const page of rowPages(deps, files, reading)) {
      for (const { id, filenames = [] } of page) {
        const folder = files.key === 'id' ? `${files.folder}/${id}` : files.folder
        yield* fileParts(deps, { folder, filenames, judge })
      }
    }
  }
  yield* upstreamParts(deps, reading)
}

async function readAccount({ orm, clock, config }: PartDeps, userId: string): Promise<object> {
  const user = await loadUser(orm.em, userId)
  const { passwordChangedAt = null } = user
  const origin = { exportedAt: clock.now(), instance: config.publicAddress.origin }
  return { ...origin, user: sanitizeUser(user, true), passwordChangedAt }
}

function rowPages({ orm }: PartDeps, rows: OwnRows, { userId, judge }: Reading): AsyncGenerator<Row[]> {
  const readPage = async (after: string) => {
    await judge()
    const { sql, parameters } = fillIn(rows, { userId, after })
    return await read<Row>(orm.em.fork(), sql, parameters)
  }
  return pagesOf(readPage, (row) => row[rows.key], rows.key === 'filename' ? '' : '0')
}

/** A token opens the instance to others: only an admin may have it, and the member who made it. */
function invitePages({ orm, clock }: PartDeps, { userId, judge }: Reading): AsyncGenerator<object[]> {
  const readPage = async (after: string) => {
    const { isAdmin } = await judge()
    const where = { createdBy: userId, id: { $gt: after } }
    const invites = await orm.em.fork().find(Invite, where, { orderBy: { id: 'asc' }, limit: policy.exportPageRows })
    return invites.map((invite) => describeInvite(invite, { isAdmin, now: clock.now() }))
  }
  return pagesOf(readPage, ({ id }) => id, '0')
}

function describeInvite(invite: Invite, { isAdmin, now }: { isAdmin: boolean; now: number }) {
  const {
    id,
    token,
    name,
    byMember,
    maxUses = null,
    usedCount,
    expiresAt,
    revokedAt,
    createdAt,
    lastRedeemedAt,
  } = invite
  return {
    id,
    ...((isAdmin || byMember) && { token }),
    name,
    status: deriveInviteStatus(invite, now),
    maxUses,
    usedCount,
    expiresAt: expiresAt?.getTime() ?? null,
    revokedAt: revokedAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
    lastRedeemedAt: lastRedeemedAt?.getTime() ?? null,
  }
}

type Files = { folder: string; filenames: readonly string[]; judge: Judge }

async function* fileParts({ uploadStore }: PartDeps, { folder, filenames, judge }: Files): AsyncGenerator<ArchivePart> {
  for (const filename of filenames) {
    await judge()
    const file = await uploadStore.open(filename)
    if (file) yield { name: `${folder}/${filename}`, content: file.content, compress: false }
  }
}

/** Nothing is held in the database between two pages. */
async function* pagesOf<R>(readPage: (after: string) => Promise<R[]>, keyOf: (row: R) => string, first: string) {
  let after = first
  for (;;) {
    const rows = await readPage(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < policy.exportPageRows) return
    after = keyOf(last)
  }
}

const notice = 'This service did not give all of its data. Ask for an export again later.'

/** A page of one upstream at a time. What is missing is named by a file of its own. Contract: 3, export. */
async function* upstreamParts(deps: PartDeps, reading: Reading): AsyncGenerator<ArchivePart> {
  for (const upstream of deps.upstreams.answering('export')) {
    const progress = { isComplete: false }
    yield rowsPart(`services/${upstream}.json`, upstreamPages(deps, upstream, { ...reading, progress }))
    if (!progress.isComplete) yield jsonPart(`services/${upstream}.incomplete.json`, { upstream, notice })
  }
}

type UpstreamReading = Reading & { progress: { isComplete: boolean } }

/** Ends early where no page comes, and beyond the limits. */
async function* upstreamPages({ upstreams }: PartDeps, upstream: string, reading: UpstreamReading) {
  const { userId, judge, progress } = reading
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
