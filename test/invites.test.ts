import type { InviteReply, RedemptionReply } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import pg from 'pg'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { startTestCluster } from '../deploy/test/test-cluster.ts'
import { callApi } from './api.ts'

const slots = 50
const guests = Array.from({ length: 200 }, (_, at) => ({ username: `guest_${at}`, address: `198.51.100.${at}` }))

describe('Registration 11: an invite of 50 uses for 200 guests at once', () => {
  let cluster: Cluster
  let database: pg.Client
  let adminToken: string
  let invite: InviteReply
  let inviteToken: string | undefined

  before(async () => {
    // Of the 200, both replicas together take fewer than there are slots: the rest is refused and retries.
    const environment = { TRUST_PROXY: 'loopback', HASHING_QUEUE: '30' }
    cluster = await startTestCluster({ replicas: { identity: 2 }, environment })
    database = new pg.Client({ connectionString: cluster.postgres.url })
    await database.connect()
    adminToken = (await register({ username: 'founder', address: '203.0.113.1' })).body.token!
    const closed = await asAdmin('PATCH /api/settings/instance', { registrationOpen: false })
    expect(closed).to.include({ registrationOpen: false })
    invite = await asAdmin<InviteReply>('POST /api/admin/invites', { name: 'opening', maxUses: slots })
    inviteToken = invite.token
  })
  after(async () => {
    await database.end()
    await cluster[Symbol.asyncDispose]()
  })

  it('makes an account for each use and no more, while the hashing queues fill and one replica is killed', async () => {
    const replica = cluster.processes.find(({ service, index }) => service === 'identity' && index === 1)!
    const registrations = guests.map(register)
    await eventually('some are registered', async () => (await tally()).uses >= 8)
    await replica.kill()
    const answers = await Promise.all(registrations)
    const { uses, ...counted } = await tally()

    expect(counted).to.deep.equal({ redemptions: uses, accounts: uses, names: uses })
    expect(uses).to.be.within(answers.filter(({ status }) => status === 201).length, slots)
    expect(new Set(answers.map(({ status }) => status)))
      .to.be.a('set')
      .that.includes(201)
    for (const { status } of answers) expect(status).to.be.oneOf([201, 403, 502, 503, 504])
    await replica.start()
  })

  it('is filled to the last slot when refused registrations are retried, and then is exhausted', async () => {
    const answers = await retryUntilFull()
    const late = await register({ username: 'latecomer', address: '203.0.113.2' })

    expect(await tally()).to.deep.equal({ uses: slots, redemptions: slots, accounts: slots, names: slots })
    for (const { status } of answers) expect(status).to.be.oneOf([201, 403, 409, 503])
    expect(late).to.deep.include({
      status: 403,
      body: { error: 'Invalid or expired invite', statusCode: 403, code: 'invite_invalid' },
    })
    const check = await callApi(cluster.gateways[0]!, `GET /api/auth/check-invite?token=${invite.token}`)
    expect(check.body).to.deep.equal({ valid: false, reason: 'exhausted' })
  })

  it('shows the admin who came', async () => {
    const [archived] = (await asAdmin<{ invites: InviteReply[] }>('GET /api/admin/invites?status=archived')).invites
    const path = `GET /api/admin/invites/${invite.id}/redemptions`
    const { redemptions } = await asAdmin<{ redemptions: RedemptionReply[] }>(path)

    expect(archived).to.include({ id: invite.id, status: 'exhausted', usedCount: slots, maxUses: slots })
    expect(new Set(redemptions.map(({ registrantUsername }) => registrantUsername))).to.have.property('size', slots)
  })

  /** A guest's request, each from an address of its own. */
  async function register({ username, address }: { username: string; address: string }) {
    const body = { username, password: `${username} likes tea`, inviteToken }
    const headers = { 'X-Forwarded-For': address }
    return await callApi(cluster.gateways[0]!, 'POST /api/auth/register', { body, headers })
  }

  async function retryUntilFull() {
    const answers: Awaited<ReturnType<typeof register>>[] = []
    for (let round = 0; round < 5 && (await tally()).uses < slots; round += 1) {
      answers.push(...(await Promise.all(guests.map(register))))
    }
    return answers
  }

  async function asAdmin<Body>(request: string, body?: object): Promise<Body> {
    const answer = await callApi(cluster.gateways[0]!, request, { token: adminToken, ...(body && { body }) })
    expect(answer.status, `${request}: ${answer.body.error}`).to.be.oneOf([200, 201])
    return answer.body as Body
  }

  /** What the invite counts, the records of it, the accounts behind them, and the accounts beside the admin's. */
  async function tally(): Promise<{ uses: number; redemptions: number; accounts: number; names: number }> {
    const { rows } = await database.query(
      `select i.used_count as uses,
         (select count(*)::int from invite_redemptions where invite_id = i.id) as redemptions,
         (select count(distinct u.id)::int from users u join invite_redemptions r on r.user_id = u.id
          where r.invite_id = i.id and r.registrant_username = u.username) as accounts,
         (select count(*)::int from users where not is_admin) as names
       from invites i where i.id = $1`,
      [invite.id],
    )
    return rows[0]
  }
})
