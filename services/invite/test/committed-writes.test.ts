import { answered, failAfterCommit, insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startInviteHarness, type InviteHarness } from './harness.ts'

/** Contract: 8, PostgreSQL: a 503 would have it done twice, and use up a member's invites. */
describe('Where PostgreSQL is away from the commit on, the answer is that of success to', () => {
  let invite: InviteHarness
  let member: { id: string; username: string; isAdmin: boolean }
  before(async () => {
    invite = await startInviteHarness()
    await invite.orm.em.fork().execute('update instance_settings set member_invites = 9')
    const { id, username } = await insertUser(invite, { username: 'member' })
    member = { id, username, isAdmin: false }
  })
  after(() => invite[Symbol.asyncDispose]())

  const created = { name: 'Friends', maxUses: null, expiresAt: null }
  const create = async (path: string, as = invite.admin) => {
    const { body } = await answered(invite.call<{ id: string }>('POST', path, { body: created, as }))
    return body.id
  }
  const path = { ofAdmins: '/api/admin/invites', ofMembers: '/api/invites' }

  const cases: Record<string, () => Promise<Parameters<InviteHarness['call']>>> = {
    'the creation of an invite': async () => ['POST', path.ofAdmins, { body: created }],
    'the creation of an own invite': async () => ['POST', path.ofMembers, { body: created, as: member }],
    'a change': async () => ['PATCH', `${path.ofAdmins}/${await create(path.ofAdmins)}`, { body: { maxUses: 3 } }],
    'a revocation': async () => ['POST', `${path.ofAdmins}/${await create(path.ofAdmins)}/revoke`],
    'the revocation of an own invite': async () => [
      'POST',
      `${path.ofMembers}/${await create(path.ofMembers, member)}/revoke`,
      { as: member },
    ],
    'a reinstatement': async () => {
      const id = await create(path.ofAdmins)
      await answered(invite.call('POST', `${path.ofAdmins}/${id}/revoke`))
      return ['POST', `${path.ofAdmins}/${id}/reinstate`, { body: {} }]
    },
    'a deletion': async () => ['DELETE', `${path.ofAdmins}/${await create(path.ofAdmins)}`],
  }
  for (const [title, prepare] of Object.entries(cases)) {
    it(title, async () => {
      const call = await prepare()

      const { status, body } = await failAfterCommit(() => invite.call(...call))

      expect(status, JSON.stringify(body)).to.be.oneOf([200, 201])
    })
  }

  it('none that reads afterwards: such a read fails', async () => {
    const { status } = await failAfterCommit(async () => {
      await create(path.ofAdmins)
      return await invite.call('GET', path.ofAdmins)
    })

    expect(status).to.equal(503)
  })
})
