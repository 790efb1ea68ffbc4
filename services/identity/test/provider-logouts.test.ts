import { judgeToken } from '@gatehouse/authority'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sessionsEnded } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { AuditEntry, LinkedIdentity, ProviderTicket, UsedToken, accountStateOf, type User } from '@gatehouse/domain'
import {
  countLockWaits,
  eventually,
  insertUser,
  startIdentityProvider,
  type TestIdentityProvider,
} from '@gatehouse/test-kit'
import { expect } from 'chai'
import { SignJWT, UnsecuredJWT, generateKeyPair, type JWTPayload } from 'jose'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { buildTicket, countTickets, linkIdentity } from './provider-builders.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
const minute = 60_000
const ended = [200, null]
const invalid = [400, 'logout_token_invalid']

/** Contract: 3, Identity providers. */
describe('Back-channel logout', () => {
  let provider: TestIdentityProvider
  let folder: string
  let identity: TestIdentity
  let user: User
  let subject: string
  let tokens = 0
  before(async () => {
    provider = await startIdentityProvider({ accounts: [] })
    folder = await mkdtemp(join(tmpdir(), 'providers-'))
    const { issuer, clientId, clientSecret } = provider
    const providersFile = join(folder, 'providers.json')
    const entry = { id: 'login', name: 'Login', issuer, clientId, clientSecret }
    await writeFile(providersFile, JSON.stringify({ providers: [entry] }))
    identity = await startTestIdentity({ config: { providersFile } })
  })
  after(async () => {
    await identity[Symbol.asyncDispose]()
    await provider.close()
    await rm(folder, { recursive: true })
  })
  beforeEach(async () => {
    user = await buildUser(identity)
    subject = (await linkIdentity(identity, user, { issuer: provider.issuer })).subject
  })

  const seconds = () => Math.floor(identity.clock.now() / 1_000)
  const rightClaims = (): JWTPayload => {
    tokens += 1
    const times = { iat: seconds(), exp: seconds() + 120 }
    return {
      iss: provider.issuer,
      aud: provider.clientId,
      sub: subject,
      jti: `jti ${tokens}`,
      ...times,
      events: { [event]: {} },
    }
  }
  const sendForm = (form: string, type = 'application/x-www-form-urlencoded', id = 'login') =>
    identity.call('POST', `/api/auth/providers/${id}/back-channel-logout`, {
      body: form,
      headers: { 'content-type': type },
    })
  const send = (token: string) => sendForm(new URLSearchParams({ logout_token: token }).toString())
  const sendClaims = async (claims: JWTPayload, typ = 'logout+jwt') => await send(await provider.sign(claims, typ))
  const answerOf = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(rightClaims()).filter(([name]) => !names.includes(name)))

  it('ends all sessions of the account before it answers, as one does oneself, and sign-ins that are not finished', async () => {
    const linked = await identity.deps.orm.em.fork().findOneOrFail(LinkedIdentity, { userId: user.id })
    const other = await buildUser(identity)
    await cacheState(identity, user)
    await buildTicket(identity, linked, { purpose: 'login', userId: null })
    await using events = await collectEvents(identity, [sessionsEnded])
    const earlier = { iat: seconds() - 1 }

    expect(answerOf(await sendClaims(rightClaims()))).to.deep.equal(ended)

    const stored = await readUser(identity, user.id)
    expect(judgeToken(earlier, await identity.deps.accountStateCache.find(user.id))).to.equal('revoked')
    expect(stored).to.include({ passwordHash: user.passwordHash, sessionsEndedByReset: false })
    expect(await countTickets(identity, { subject })).to.equal(0)
    const actor = { userId: user.id, username: user.username }
    const at = stored.passwordChangedAt
    const [published] = await events.ofUser(user.id, 1)
    expect(published!.payload).to.deep.equal({ userId: user.id, at, actor, state: accountStateOf(stored) })
    const action = 'user.sessions-ended-by-provider'
    const entries = await identity.deps.orm.em.fork().find(AuditEntry, { action, targetId: user.id })
    expect(entries.map(({ detail }) => detail)).to.deep.equal([{ provider: 'login' }])
    expect((await readUser(identity, other.id)).stateVersion).to.equal(other.stateVersion)
  })

  it('takes each form that the standard allows', async () => {
    const { clientId } = provider
    for (const [claims, typ] of [
      [rightClaims(), 'JWT'],
      [rightClaims(), 'application/logout+jwt'],
      [{ ...rightClaims(), aud: ['another client', clientId] }, 'logout+jwt'],
      [{ ...rightClaims(), sid: 'session 1' }, 'logout+jwt'],
      [without('exp'), 'logout+jwt'],
      [{ ...rightClaims(), iat: seconds() - 600 }, 'logout+jwt'],
      [{ ...rightClaims(), iat: seconds() + 60 }, 'logout+jwt'],
    ] satisfies [JWTPayload, string][]) {
      expect(answerOf(await sendClaims(claims, typ)), JSON.stringify(claims)).to.deep.equal(ended)
      identity.clock.advance(1_000)
    }
  })

  it('counts once, also of sixteen at once', async () => {
    await using events = await collectEvents(identity, [sessionsEnded])
    const token = await provider.sign(rightClaims(), 'logout+jwt')

    const answers = (await Promise.all(Array.from({ length: 16 }, () => send(token)))).map(answerOf)

    expect(answers.filter(([status]) => status === 200)).to.have.length(1)
    // A busy account lets some wait, and then refuses them.
    expect(['logout_token_invalid', 'unavailable', null]).to.include.members(answers.map(([, code]) => code))
    expect(answerOf(await send(token))).to.deep.equal(invalid)
    expect(await events.ofUser(user.id, 1)).to.have.length(1)
  })

  it('of an identity that no account has ends the sign-ins with it that are not finished, and no others', async () => {
    const stranger = { provider: 'login', issuer: provider.issuer, userId: null, purpose: 'login' } as const
    for (const one of ['nobody', 'somebody']) await buildTicket(identity, { ...stranger, subject: one })
    const token = await provider.sign({ ...rightClaims(), sub: 'nobody' }, 'logout+jwt')

    expect(answerOf(await send(token))).to.deep.equal(ended)

    expect(await countTickets(identity, { subject: 'nobody' })).to.equal(0)
    expect(await countTickets(identity, { subject: 'somebody' })).to.equal(1)
    expect(answerOf(await send(token))).to.deep.equal(invalid)
    expect((await readUser(identity, user.id)).stateVersion).to.equal(user.stateVersion)
  })

  it('waits for a registration with the identity, and ends its session', async () => {
    const stranger = { provider: 'login', issuer: provider.issuer, subject: `new ${subject}`, userId: null }
    await buildTicket(identity, stranger, { purpose: 'login' })
    const registering = identity.deps.orm.em.fork()
    await registering.begin()
    await registering.nativeDelete(ProviderTicket, { subject: stranger.subject })
    const registered = await insertUser({ em: registering })
    const linked = { id: await nextId(registering), ...stranger, userId: registered.id, linkedAt: new Date() }
    await registering.insert(LinkedIdentity, linked)

    const answer = sendClaims({ ...rightClaims(), sub: stranger.subject })
    await eventually('the logout waits', async () => (await countLockWaits(identity.deps)) === 1)
    await registering.commit()

    expect(answerOf(await answer)).to.deep.equal(ended)
    expect((await readUser(identity, registered.id)).stateVersion).to.equal(registered.stateVersion + 1)
  })

  it('refuses what the provider did not sign for this client as a logout just now, and changes nothing', async () => {
    const { clientSecret } = provider
    const { privateKey } = await generateKeyPair('RS256')
    const header = { alg: 'RS256', typ: 'logout+jwt' }
    const right = await provider.sign(rightClaims(), 'logout+jwt')
    const [head, , signature] = right.split('.')
    const changed = Buffer.from(JSON.stringify(rightClaims())).toString('base64url')
    const secret = new TextEncoder().encode(clientSecret)
    const forms = [
      '',
      'logout_token=',
      'logout_token=a.b.c',
      `logout_token=${right}&logout_token=${right}`,
      `logout_token=${new UnsecuredJWT(rightClaims()).encode()}`,
      `logout_token=${await new SignJWT(rightClaims()).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret)}`,
      `logout_token=${await new SignJWT(rightClaims()).setProtectedHeader(header).sign(privateKey)}`,
      `logout_token=${head}.${changed}.${signature}`,
    ]
    for (const form of forms) expect(answerOf(await sendForm(form)), form).to.deep.equal(invalid)
    expect(answerOf(await sendForm(JSON.stringify({ logout_token: right }), 'application/json'))).to.deep.equal(invalid)
    const wrong: JWTPayload[] = [
      ...['iss', 'aud', 'iat', 'jti', 'events'].map((name) => without(name)),
      { ...without('sub'), sid: 'session 1' },
      { ...rightClaims(), iss: 'https://other.example' },
      { ...rightClaims(), aud: 'another client' },
      { ...rightClaims(), iat: seconds() - 700, exp: seconds() + 700 },
      { ...rightClaims(), iat: seconds() + 90, exp: seconds() + 700 },
      { ...rightClaims(), exp: seconds() - 60 },
      { ...rightClaims(), nonce: 'of an ID token' },
      { ...rightClaims(), events: {} },
      { ...rightClaims(), events: { [event]: true } },
      { ...rightClaims(), events: [event] },
      ...['', 'a\u0000b', 'x'.repeat(256)].flatMap((text) => [
        { ...rightClaims(), jti: text },
        { ...rightClaims(), sub: text },
      ]),
      { ...rightClaims(), jti: 7 as unknown as string },
    ]
    for (const claims of wrong) {
      expect(answerOf(await sendClaims(claims)), JSON.stringify(claims)).to.deep.equal(invalid)
    }
    expect(answerOf(await sendClaims(rightClaims(), 'at+jwt'))).to.deep.equal(invalid)
    const { body } = await send('a.b.c')
    expect(body).to.deep.equal({ error: 'invalid_request', statusCode: 400, code: 'logout_token_invalid' })
    expect((await sendForm(`logout_token=${'x'.repeat(70_000)}`)).status).to.equal(413)
    expect(answerOf(await sendForm('', undefined, 'other'))).to.deep.equal([404, 'provider_unknown'])
    expect((await readUser(identity, user.id)).stateVersion).to.equal(user.stateVersion)

    expect(answerOf(await send(right))).to.deep.equal(ended)
    expect(JSON.stringify(identity.logLines)).to.not.include(right.split('.')[1])
  })

  it('is remembered until its age alone refuses it', async () => {
    const claims = { ...rightClaims(), exp: seconds() + 86_400 }
    const token = await provider.sign(claims, 'logout+jwt')
    expect(answerOf(await send(token))).to.deep.equal(ended)
    const em = identity.deps.orm.em.fork()
    const { expiresAt } = await em.findOneOrFail(UsedToken, { token: claims.jti! })
    await em.nativeDelete(UsedToken, { token: claims.jti! })
    identity.clock.set(expiresAt.getTime() - 2_000)
    expect(answerOf(await send(token))).to.deep.equal(ended)
    await em.nativeDelete(UsedToken, { token: claims.jti! })

    identity.clock.set(expiresAt.getTime())

    expect(answerOf(await send(token))).to.deep.equal(invalid)
  })

  it('is asked for again while the provider is away, which readiness tells; the file is read again on SIGHUP', async () => {
    const readiness = async () => (await identity.call('GET', '/readyz?verbose')).body
    expect(await readiness()).to.have.nested.property('dependencies.identity_providers', true)
    provider.depart.answer = (request) => (request.socket.destroy(), true)
    await writeFile(identity.config.providersFile!, JSON.stringify({ providers: [] }))
    process.emit('SIGHUP')
    await eventually('no providers', () => identity.deps.providers.list().length === 0)
    expect(answerOf(await sendClaims(rightClaims()))).to.deep.equal([404, 'provider_unknown'])
    const { issuer, clientId, clientSecret } = provider
    const entry = { id: 'login', name: 'Login', issuer, clientId, clientSecret }
    await writeFile(identity.config.providersFile!, JSON.stringify({ providers: [entry] }))
    process.emit('SIGHUP')
    await eventually('a provider', () => identity.deps.providers.list().length === 1)

    const token = await provider.sign(rightClaims(), 'logout+jwt')
    const away = await send(token)

    expect([away.status, away.headers.get('retry-after')]).to.deep.equal([503, '60'])
    const found = await readiness()
    expect(found).to.include({ ready: true }).and.have.nested.property('dependencies.identity_providers', false)
    expect(found)
      .to.have.nested.property('faults.identity_providers')
      .that.matches(/^login: /)
    delete provider.depart.answer
    identity.clock.advance(minute)
    expect(answerOf(await send(token))).to.deep.equal(ended)
    expect(await readiness()).to.have.nested.property('dependencies.identity_providers', true)
    const metrics = (await identity.call('GET', '/metrics')).text
    expect(metrics).to.match(/gatehouse_provider_logouts_total\{provider="login",outcome="provider_unavailable"\} 1/)
  })
})
