import { Application, User } from '@gatehouse/domain'
import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import * as oidc from 'openid-client'
import { policy } from '../src/policy.ts'
import { startSweep } from '../src/sweep.ts'
import { logIn, offline, openBrowser, request, startHarness, type Harness } from './harness.ts'

const count = 8

/** Design: invariant 1; Contract: 3, Applications. */
describe('What ends a session ends what it allowed applications, at once and on any replica', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness()))
  after(() => harness[Symbol.asyncDispose]())

  type LoggedIn = Awaited<ReturnType<typeof logIn>>

  /** How many of each still work, on both replicas. */
  async function alive(application: { id: string; type: 'confidential' }, logIns: readonly LoggedIn[], sub: string) {
    const works = { introspections: 0, userinfo: 0, refreshes: 0 }
    for (const [index, { tokens }] of logIns.entries()) {
      const config = await harness.configure(application, (index % 2) as 0 | 1)
      if ((await oidc.tokenIntrospection(config, tokens.access_token)).active) works.introspections += 1
      await oidc.fetchUserInfo(config, tokens.access_token, sub).then(
        () => (works.userinfo += 1),
        () => undefined,
      )
      const refreshing = oidc.refreshTokenGrant(config, tokens.refresh_token!)
      await refreshing.then(
        () => (works.refreshes += 1),
        () => undefined,
      )
    }
    return works
  }

  const changeUser = async (id: string, change: object) => {
    // As identity leaves the row: the second of the change has passed.
    harness.clock.advance(1_000)
    await harness.orm.em.fork().nativeUpdate(User, { id }, change)
  }
  const ends = () => ({ passwordChangedAt: (Math.floor(harness.clock.now() / 1_000) + 1) * 1_000 }) as object
  const changes: [name: string, end: (person: string, application: string) => Promise<unknown>][] = [
    [
      'a change of the password, a reset, an end of sessions: a newer passwordChangedAt',
      (id) => changeUser(id, ends()),
    ],
    ['a suspension', (id) => changeUser(id, { ...ends(), suspendedAt: Date.now() })],
    ['a deletion', (id) => changeUser(id, { isDeleted: true })],
    [
      'the application is suspended',
      (_, id) => harness.orm.em.fork().nativeUpdate(Application, { id }, { suspendedAt: new Date() }),
    ],
    ['the application is deleted', (_, id) => harness.orm.em.fork().nativeDelete(Application, { id })],
  ]
  for (const [name, end] of changes) {
    it(`0 of ${count} introspections, userinfo calls and refreshes after: ${name}`, async () => {
      const person = await harness.insertPerson()
      const application = { ...(await harness.insertApplication()), type: 'confidential' as const }
      const resource = { ...(await harness.insertApplication()), type: 'confidential' as const }
      const logIns: LoggedIn[] = []
      for (let made = 0; made < count; made += 1) logIns.push(await logIn(harness, application, person, offline))
      const all = { introspections: count, userinfo: count, refreshes: count }
      expect(await alive(application, logIns, person.id)).to.deep.equal(all)
      const again: LoggedIn[] = []
      for (let made = 0; made < count; made += 1) again.push(await logIn(harness, application, person, offline))
      const code = await request(await harness.configure(application))
      const back = await openBrowser(harness).allow(code.url, person)

      await end(person.id, application.id)

      const none = { introspections: 0, userinfo: 0, refreshes: 0 }
      const asked = name.startsWith('the application') ? resource : application
      const found = await Promise.all(
        again.map(
          async ({ tokens }) =>
            (await oidc.tokenIntrospection(await harness.configure(asked, 1), tokens.access_token)).active,
        ),
      )
      expect(found).to.deep.equal(again.map(() => false))
      if (asked === application) expect(await alive(application, again, person.id)).to.deep.equal(none)
      const exchanged = await oidc
        .authorizationCodeGrant(
          await harness.configure(application, 1).catch(() => again[0]!.config),
          back,
          code.checks,
        )
        .catch((error: unknown) => error)
      expect(exchanged).to.be.instanceOf(Error)
    })
  }

  it('a decision by a session that has just ended is refused', async () => {
    const person = await harness.insertPerson()
    const config = await harness.configure(await harness.insertApplication())
    const browser = openBrowser(harness)
    const uid = await browser.ask((await request(config)).url)
    const { id, username } = person
    const before = { id, username, tokenIssuedAt: Math.floor(harness.clock.now() / 1_000) }
    await changeUser(id, ends())
    expect((await browser.decide(uid, before)).body).to.include({ code: 'token_revoked' })
  })

  it('sixteen at once with one code: one gets tokens, and they are dead, for somebody else had it too', async () => {
    const person = await harness.insertPerson()
    const application = await harness.insertApplication()
    const configs = [await harness.configure(application, 0), await harness.configure(application, 1)]
    const { url, checks } = await request(configs[0]!)
    const back = await openBrowser(harness).allow(url, person)
    const racers = Array.from({ length: 16 }, (_, index) =>
      oidc.authorizationCodeGrant(configs[index % 2]!, back, checks).catch((error: unknown) => error),
    )
    const won = (await Promise.all(racers)).filter((outcome) => !(outcome instanceof Error))
    expect(won.length).to.be.at.most(1)
    for (const tokens of won as oidc.TokenEndpointResponse[]) {
      expect(await oidc.tokenIntrospection(configs[0]!, tokens.access_token)).to.deep.equal({ active: false })
    }
    const consumed = `select count(*)::int as count from openid_rows where model = 'AccessToken' and account_id = ?`
    const [row] = await harness.orm.em.fork().execute<{ count: number }[]>(consumed, [person.id])
    expect(row!.count).to.be.at.most(1)
  })

  it('sixteen refreshes at once with one token: at most one succeeds, and the family ends', async () => {
    const person = await harness.insertPerson()
    const { config, tokens } = await logIn(harness, await harness.insertApplication(), person, offline)
    const racers = Array.from({ length: 16 }, () =>
      oidc.refreshTokenGrant(config, tokens.refresh_token!).catch(() => null),
    )
    const won = (await Promise.all(racers)).filter((outcome) => outcome !== null)
    expect(won.length).to.be.at.most(1)
    for (const { access_token } of [tokens, ...won]) {
      expect(await oidc.tokenIntrospection(config, access_token)).to.deep.equal({ active: false })
    }
  })

  it('a refresh token that is used twice ends its family, on the other replica too', async () => {
    const person = await harness.insertPerson()
    const application = await harness.insertApplication()
    const { config, tokens } = await logIn(harness, application, person, offline)
    const second = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    expect(await oidc.tokenIntrospection(config, second.access_token)).to.include({ active: true })
    const other = await harness.configure(application, 1)
    const reused = await oidc
      .refreshTokenGrant(other, tokens.refresh_token!)
      .catch((error: oidc.ResponseBodyError) => error.error)
    expect(reused).to.equal('invalid_grant')
    for (const one of [second.access_token, second.refresh_token!]) {
      expect(await oidc.tokenIntrospection(config, one)).to.deep.equal({ active: false })
    }
    const { text } = await harness.resources.metrics.render()
    expect(text).to.match(/^gatehouse_openid_reuses_total\{[^}]*kind="RefreshToken"[^}]*\} [1-9]/m)
  })

  it('a grant lasts while its refresh tokens are used', async () => {
    const person = await harness.insertPerson()
    const { tokens, config } = await logIn(harness, await harness.insertApplication(), person, offline)
    const ends = `select expires_at as at, payload->>'exp' as exp from openid_rows where model = 'Grant' and account_id = ?`
    const [row] = await harness.orm.em.fork().execute<{ at: string; exp: string }[]>(ends, [person.id])
    expect(Number(row!.exp) * 1_000).to.be.closeTo(new Date(row!.at).getTime(), 2_000)
    expect(Number(row!.exp)).to.be.greaterThan(Date.now() / 1_000 + 29 * 24 * 3_600)
    expect(await oidc.tokenIntrospection(config, tokens.refresh_token!)).to.include({ active: true })
  })

  it(`${policy.grantsAtOneApplication + 5} grants at one application, and a thousand of one account: the oldest go`, async () => {
    const person = await harness.insertPerson()
    const application = await harness.insertApplication()
    const first = await logIn(harness, application, person)
    const config = await harness.configure(application)
    const browser = openBrowser(harness)
    for (let made = 0; made < policy.grantsAtOneApplication + 4; made += 1) {
      harness.clock.advance(1)
      await browser.decide(await browser.ask((await request(config)).url), person)
    }
    const grants = async () => {
      const sql = `select count(*)::int as count from openid_rows where model = 'Grant' and account_id = ?`
      return (await harness.orm.em.fork().execute<{ count: number }[]>(sql, [person.id]))[0]!.count
    }
    expect(await grants()).to.equal(policy.grantsAtOneApplication)
    expect(await oidc.tokenIntrospection(config, first.tokens.access_token)).to.deep.equal({ active: false })
    await harness.orm.em.fork().execute(
      `insert into openid_rows (model, id_hash, payload, account_id, application_id, token_issued_at, created_at, expires_at)
       select 'Grant', 'x' || n, '{}', ?, 1000000 + n / 50, 0, '2020-01-01', '2999-01-01' from generate_series(1, 1200) n`,
      [person.id],
    )
    await browser.decide(await browser.ask((await request(config)).url), person)
    expect(await grants()).to.equal(policy.grantsOfAccount)
  })

  it('what has expired is removed in steps', async () => {
    const rows = async () =>
      (
        await harness.orm.em
          .fork()
          .execute<{ count: number }[]>(
            `select count(*)::int as count from openid_rows where expires_at < '2020-01-01'`,
          )
      )[0]!.count
    await harness.orm.em.fork().execute(
      `insert into openid_rows (model, id_hash, payload, created_at, expires_at)
       select 'Session', 'old' || n, '{}', '2019-01-01', '2019-01-01' from generate_series(1, 2500) n`,
    )
    expect(await rows()).to.equal(2_500)
    const person = await harness.insertPerson()
    const { config, tokens } = await logIn(harness, await harness.insertApplication(), person)
    const expectLive = async () =>
      expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.include({ active: true })
    await using sweep = startSweep({ ...harness.replicas[0].deps, timer: manualTimer() })
    await sweep.runNow()
    expect(await rows()).to.equal(0)
    await expectLive()
  })
})
