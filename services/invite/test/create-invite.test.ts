import type { InviteReply } from '@gatehouse/contracts'
import { AuditEntry, Invite } from '@gatehouse/domain'
import { expect } from 'chai'
import { origin, startInviteHarness, type InviteHarness } from './harness.ts'

const day = 86_400_000

describe('Creation of an invite', () => {
  let invites: InviteHarness

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  it('creates an active invite with a token of 22 base64url characters and a link on the public origin', async () => {
    const body = { name: '  Book club  ', maxUses: 5, expiresAt: invites.clock.now() + day }
    const { status, body: invite } = await invites.call<InviteReply>('POST', '/api/admin/invites', { body })

    expect(status).to.equal(201)
    expect(invite.token).to.match(/^[A-Za-z0-9_-]{22}$/)
    expect(invite).to.deep.equal({
      id: invite.id,
      token: invite.token,
      name: 'Book club',
      status: 'active',
      maxUses: 5,
      usedCount: 0,
      expiresAt: body.expiresAt,
      revokedAt: null,
      createdBy: invites.admin.id,
      createdByUsername: 'founder',
      createdAt: invites.clock.now(),
      lastRedeemedAt: null,
      url: `${origin}/register?invite=${invite.token}`,
    })
  })

  it('refuses what is no name, no number of uses or no future', async () => {
    const good = { name: 'friends', maxUses: null, expiresAt: null }
    const bad = [
      { name: '   ' },
      { name: 'x'.repeat(65) },
      { name: null },
      { name: 'a\0b' },
      { maxUses: 0 },
      { maxUses: 1.5 },
      { maxUses: '3' },
      { maxUses: 2 ** 31 },
      { expiresAt: invites.clock.now() },
      { expiresAt: -1 },
      { expiresAt: 8_640_000_000_000_000 },
      { expiresAt: 'tomorrow' },
    ]
    const answers = await Promise.all(
      bad.map((fault) => invites.call('POST', '/api/admin/invites', { body: { ...good, ...fault } })),
    )

    expect(answers.map(({ status }) => status)).to.deep.equal(bad.map(() => 400))
    for (const { body } of answers) expect(body.error).to.match(/^(name|maxUses|expiresAt|The body) /)
  })

  it('counts a name in code points and takes the last moment that can be kept', async () => {
    const body = { name: '🎉'.repeat(64), maxUses: 2 ** 31 - 1, expiresAt: 253_402_300_799_999 }
    const { status, body: invite } = await invites.call<InviteReply>('POST', '/api/admin/invites', { body })

    expect(status).to.equal(201)
    expect(invite).to.include(body)
  })

  it('Invite link, token: tries up to three more tokens when one is taken', async () => {
    const { token } = await invites.buildInvite()
    const free = Buffer.alloc(16, 7).toString('base64url')
    invites.tokens.push(token, token, token, free)

    expect(await invites.buildInvite()).to.include({ token: free, status: 'active' })
  })

  it('Invite link, token: gives up after the third retry and leaves nothing', async () => {
    const { token } = await invites.buildInvite()
    const before = await invites.orm.em.fork().count(Invite)
    invites.tokens.push(token, token, token, token)
    const answer = await invites.call('POST', '/api/admin/invites', { body: { name: 'unlucky' } })

    expect([answer.status, (answer.body as { code?: string }).code]).to.deep.equal([503, 'no_free_token'])
    expect(invites.tokens).to.deep.equal([])
    expect(await invites.orm.em.fork().count(Invite)).to.equal(before)
    expect(await invites.orm.em.fork().count(AuditEntry, { detail: { name: 'unlucky' } as never })).to.equal(0)
  })
})
