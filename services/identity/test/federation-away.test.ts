import { connectNats, type Bus } from '@gatehouse/bus'
import type { PeerStatus, User } from '@gatehouse/domain'
import { capturedLog, eventually, startNats, type LocalServer } from '@gatehouse/test-kit'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { buildStub, buildUser, readUser } from './builders.ts'
import { fakeHome } from './fake-home.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const password = 'the new one at home'
const homeInstance = 'home.example'

/** Contract: 7, Login repair. */
describe('A login with the password of the home', () => {
  const home = fakeHome({ ivy: { id: '77', password } })
  let nats: LocalServer
  let bus: Bus
  let identity: TestIdentity
  let user: User

  before(async () => {
    nats = await startNats()
    bus = await connectNats({ url: nats.url, name: 'identity', log: capturedLog().log })
    identity = await startTestIdentity({ bus, overrides: { outbound: home.outbound } })
  })
  after(async () => {
    await nats.start()
    await eventually('NATS is back', () => bus.ready())
    await identity[Symbol.asyncDispose]()
    await bus[Symbol.asyncDispose]()
    await nats[Symbol.asyncDispose]()
  })
  afterEach(async () => {
    const em = identity.deps.orm.em.fork()
    await em.execute('delete from peers')
    await em.execute(`update users set username = '!deleted:' || id, is_deleted = true`)
  })

  const build = async (status: PeerStatus | null, insert = buildUser) => {
    const em = identity.deps.orm.em.fork()
    const sql =
      "insert into peers (id, origin, host, secret, status) values (1, 'https://home.example:8443', ?, 'x', ?)"
    if (status) await em.execute(sql, [homeInstance, status])
    user = await insert(identity, { username: `ivy@${homeInstance}`, homeInstance, homeUserId: '77' })
  }
  const logIn = async (given = password) => {
    const body = { username: user.username, password: given }
    const { status, headers } = await identity.call('POST', '/api/auth/login', { body })
    return [status, headers.get('retry-after')]
  }
  const fitsHere = async () => bcrypt.compare(password, (await readUser(identity, user.id)).passwordHash)

  it('counts while federation-fanout says that the home is the same, and not where it is another one', async () => {
    await build('active')
    identity.federation.epoch = { outcome: 'changed' }
    const changed = await logIn()
    identity.federation.epoch = { outcome: 'same' }

    expect([changed, await logIn()]).to.deep.equal([
      [401, null],
      [200, null],
    ])
  })

  for (const [away, leave] of [
    ['federation-fanout', () => identity.federation.leave()],
    ['NATS', () => nats.kill().then(() => eventually('the loss is noticed', () => !bus.ready()))],
  ] as const) {
    describe(`while ${away} is away`, () => {
      before(leave)

      for (const status of [null, 'rejected', 'revoked'] as const) {
        it(`counts where the home is ${status ? `a ${status} peer` : 'no peer'}`, async () => {
          await build(status)

          expect([await logIn(), await fitsHere()]).to.deep.equal([[200, null], true])
        })
      }

      for (const status of ['active', 'unreachable', 'needs_attention', 'pending', 'awaiting_approval'] as const) {
        it(`is 503 where the home is a peer that is ${status}, and 401 where it is wrong`, async () => {
          await build(status)

          const answers = [await logIn(), await logIn('wrong everywhere')]

          expect([answers, await fitsHere()]).to.deep.equal([
            [
              [503, '1'],
              [401, null],
            ],
            false,
          ])
        })
      }

      it('is 503 also where the home of a peer is spelled with its port and in capitals', async () => {
        await build('active')
        await identity.deps.orm.em
          .fork()
          .execute('update users set home_instance = ? where id = ?', ['HOME.example:8443', user.id])

        expect(await logIn()).to.deep.equal([503, '1'])
      })

      it('upgrades a stub of a home that is no peer, and is 503 for one of a peer', async () => {
        await build(null, buildStub)
        const stranger = [await logIn(), await fitsHere()]
        await identity.deps.orm.em.fork().execute(`update users set username = '!deleted:' || id, is_deleted = true`)
        await build('active', buildStub)

        expect(stranger).to.deep.equal([[200, null], true])
        expect([await logIn(), (await readUser(identity, user.id)).isStub()]).to.deep.equal([[503, '1'], true])
      })
    })
  }
})
