import { read } from '@gatehouse/database'
import { Invite, deriveInviteStatus, sanitizeUser } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { loadUser } from '../../queries/load-user.ts'
import { textPart, toJson, toJsonArray, type ArchivePart, type Judge } from './archive.ts'
import { upstreamParts } from './upstream-parts.ts'
import { fillIn, ownFiles, ownRows, type OwnRows } from './own-rows.ts'

export type PartDeps = Pick<OperationContext, 'orm' | 'clock'> & Pick<Deps, 'config' | 'uploadStore' | 'upstreams'>

type Row = Record<'id' | 'userId' | 'filename', string> & { filenames?: string[] }

/** The caller is judged again before each file and each page. Contract: 3, export. */
export async function* ownParts(deps: PartDeps, userId: string, judge: Judge): AsyncGenerator<ArchivePart> {
  await judge()
  yield textPart('account.json', toJson(await readAccount(deps, userId)))
  yield textPart('invites.json', toJsonArray(invitePages(deps, userId, judge)))
  for (const rows of ownRows) yield textPart(rows.file, toJsonArray(rowPages(deps, rows, { userId, judge })))
  for (const files of ownFiles) {
    for await (const page of rowPages(deps, files, { userId, judge })) {
      for (const { id, filenames = [] } of page) {
        const folder = files.key === 'id' ? `${files.folder}/${id}` : files.folder
        yield* fileParts(deps, { folder, filenames, judge })
      }
    }
  }
  yield* upstreamParts(deps, { userId, judge })
}

async function readAccount({ orm, clock, config }: PartDeps, userId: string): Promise<object> {
  const user = await loadUser(orm.em, userId)
  const { passwordChangedAt = null } = user
  return {
    exportedAt: clock.now(),
    instance: config.publicAddress.origin,
    user: sanitizeUser(user, true),
    passwordChangedAt,
  }
}

type Reading = { userId: string; judge: Judge }

function rowPages({ orm }: PartDeps, rows: OwnRows, { userId, judge }: Reading): AsyncGenerator<Row[]> {
  const readPage = async (after: string) => {
    await judge()
    const { sql, parameters } = fillIn(rows, { userId, after })
    return await read<Row>(orm.em.fork(), sql, parameters)
  }
  const first = rows.key === 'filename' ? '' : '0'
  return pagesOf(readPage, { pageRows: policy.exportPageRows, keyOf: (row) => row[rows.key], first })
}

/** A token opens the instance to others: only an admin may have it. */
function invitePages({ orm, clock }: PartDeps, userId: string, judge: Judge): AsyncGenerator<object[]> {
  const readPage = async (after: string) => {
    const { isAdmin } = await judge()
    const where = { createdBy: userId, id: { $gt: after } }
    const invites = await orm.em.fork().find(Invite, where, { orderBy: { id: 'asc' }, limit: policy.exportPageRows })
    return invites.map((invite) => describeInvite(invite, { isAdmin, now: clock.now() }))
  }
  return pagesOf(readPage, { pageRows: policy.exportPageRows, keyOf: ({ id }) => id, first: '0' })
}

function describeInvite(invite: Invite, { isAdmin, now }: { isAdmin: boolean; now: number }) {
  const { id, token, name, maxUses = null, usedCount, expiresAt, revokedAt, createdAt, lastRedeemedAt } = invite
  return {
    id,
    ...(isAdmin && { token }),
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
export async function* pagesOf<Row>(
  read: (after: string) => Promise<Row[]>,
  { pageRows, keyOf, first }: { pageRows: number; keyOf: (row: Row) => string; first: string },
): AsyncGenerator<Row[]> {
  let after = first
  for (;;) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < pageRows) return
    after = keyOf(last)
  }
}
