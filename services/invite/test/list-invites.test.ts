import type { InviteReply, RedemptionReply } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { expect } from 'chai'
import { insertUser, answered } from '@gatehouse/test-kit'
import { startInviteHarness, type InviteHarness } from './harness.ts'

type InvitePage = { invites: InviteReply[]; nextCursor: string | null }
type RedemptionPage = { redemptions: RedemptionReply[]; nextCursor: string | null }

describe('Lists of invites', () => {
  let invites: InviteHarness
  const list = async (query: string) => (await invites.call<InvitePage>('GET', `/api/admin/invites?${query}`)).body
  const redemptionsOf = async ({ id }: { id: string }, query = '') =>
    (await invites.call<RedemptionPage>('GET', `/api/admin/invites/${id}/redemptions?${query}`)).body
  const ids = (page: { id: string }[]) => page.map(({ id }) => id)

  beforeEach(async () => void (invites = await startInviteHarness()))
  afterEach(async () => await invites[Symbol.asyncDispose]())

  /** Contract: 4, Status. */
  it('part the active ones from those that expired, were used up or revoked, newest first', async () => {
    const revoked = await invites.buildInvite()
    const expired = await invites.buildInvite({ expiresAt: invites.clock.now() + 1 })
    const exhausted = await invites.buildInvite({ maxUses: 1 })
    const endless = await invites.buildInvite()
    const lasting = await invites.buildInvite({ maxUses: 2, expiresAt: invites.clock.now() + 2 })
    await answered(invites.call('POST', `/api/admin/invites/${revoked.id}/revoke`))
    await invites.redeem(exhausted.token)
    await invites.redeem(lasting.token)
    invites.clock.advance(2)

    expect(ids((await list('')).invites)).to.deep.equal(ids([lasting, endless]))
    const { invites: archived } = await list('status=archived')
    expect(archived.map(({ id, status }) => [id, status])).to.deep.equal([
      [exhausted.id, 'exhausted'],
      [expired.id, 'expired'],
      [revoked.id, 'revoked'],
    ])
  })

  it('page by a cursor that stays in its place while new invites come', async () => {
    const built: InviteReply[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) built.unshift(await invites.buildInvite({ name }))
    const first = await list('limit=2')
    await invites.buildInvite({ name: 'latecomer' })
    const second = await list(`limit=2&cursor=${first.nextCursor}`)
    const third = await list(`limit=2&cursor=${second.nextCursor}`)

    expect([first, second, third].flatMap((page) => ids(page.invites))).to.deep.equal(ids(built))
    expect(third.nextCursor).to.equal(null)
  })

  it('end without a cursor when the last page is exactly full', async () => {
    await invites.buildInvite()
    await invites.buildInvite()

    expect((await list('limit=2')).nextCursor).to.equal(null)
  })

  it('refuse a status, limit or cursor that is none', async () => {
    const queries = ['status=gone', 'limit=0', 'limit=101', 'limit=x', 'cursor=abc', 'limit=1&limit=2']
    const answers = await Promise.all(queries.map((query) => invites.call('GET', `/api/admin/invites?${query}`)))

    expect(answers.map(({ status }) => status)).to.deep.equal(queries.map(() => 400))
  })

  /** Contract: 4, Invites. */
  it('name a tombstoned creator Deleted User, and keep the invite', async () => {
    const creator = await insertUser(invites, { username: 'creator', isAdmin: true })
    const as = { id: creator.id, username: 'creator', isAdmin: true }
    await answered(invites.call('POST', '/api/admin/invites', { body: { name: 'outlives' }, as }))
    await tombstone(creator)
    const [invite] = (await list('')).invites

    expect(invite).to.include({ name: 'outlives', createdBy: creator.id, createdByUsername: 'Deleted User' })
  })

  /** Contract: 4, Redemptions. */
  it('Invite redemption: a record keeps the name of that day beside the name of today, and outlives the account', async () => {
    const invite = await invites.buildInvite()
    const kept = await invites.redeem(invite.token, { username: 'kept' })
    const renamed = await invites.redeem(invite.token, { username: 'before' })
    const deleted = await invites.redeem(invite.token, { username: 'leaver' })
    const erased = await invites.redeem(invite.token, { username: 'erased' })
    await invites.orm.em.fork().nativeUpdate(User, { id: renamed.id }, { username: 'after' })
    await tombstone(deleted)
    await invites.orm.em.fork().nativeDelete(User, { id: erased.id })
    const { redemptions } = await redemptionsOf(invite)

    expect(redemptions.map(({ id: _, redeemedAt: __, ...shown }) => shown)).to.deep.equal([
      { userId: null, registrantUsername: 'erased', currentUsername: null, isDeleted: true },
      { userId: deleted.id, registrantUsername: 'leaver', currentUsername: 'Deleted User', isDeleted: true },
      { userId: renamed.id, registrantUsername: 'before', currentUsername: 'after', isDeleted: false },
      { userId: kept.id, registrantUsername: 'kept', currentUsername: 'kept', isDeleted: false },
    ])
    expect(redemptions[0]!.redeemedAt).to.equal(invites.clock.now())
  })

  /** Contract: 4, Lists. */
  it('Invite redemption: the records page by a cursor', async () => {
    const invite = await invites.buildInvite()
    for (const username of ['ada', 'bob', 'cyd']) await invites.redeem(invite.token, { username })
    const first = await redemptionsOf(invite, 'limit=2')
    const second = await redemptionsOf(invite, `limit=2&cursor=${first.nextCursor}`)
    const names = [first, second].map((page) => page.redemptions.map(({ registrantUsername }) => registrantUsername))

    expect(names).to.deep.equal([['cyd', 'bob'], ['ada']])
    expect(second.nextCursor).to.equal(null)
  })

  async function tombstone({ id }: { id: string }): Promise<void> {
    const change = { username: `!deleted:${id}`, isDeleted: true }
    await invites.orm.em.fork().nativeUpdate(User, { id }, change)
  }
})
