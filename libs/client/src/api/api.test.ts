import { endpoints, type UserReply } from '@gatehouse/contracts'
import { expect } from 'chai'
import { createFakeClock, settle } from '../../test/fake-clock.ts'
import { createFakeNetwork } from '../../test/fake-network.ts'
import { home } from '../../test/harness.ts'
import { createApi } from './api.ts'
import { ApiError, NetworkFailure, RateLimited, isAborted, listOwnedSpaces } from './errors.ts'
import type { User } from './records.ts'

function buildApi(token: string | null = 't') {
  const clock = createFakeClock()
  const network = createFakeNetwork()
  const refused: string[] = []
  const api = createApi({
    origin: home,
    fetch: network.fetch,
    clock,
    token: () => token,
    onTokenRefused: (dead) => void refused.push(dead),
  })
  return { api, clock, network, refused }
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => error,
  )
const me = `GET ${home}/api/users/@me`

describe('the API client', () => {
  it('has every public endpoint of the contract, with its method, path and need for a token', async () => {
    const { api, network } = buildApi()
    const credentials = { username: 'alice', password: 'secret' }
    const invite = { name: 'n', maxUses: null, expiresAt: null }
    const { auth, users, uploads, instance, invites, admin, peers } = api
    const calls = [
      [auth.register(credentials), auth.login(credentials), auth.checkUsername('alice'), auth.checkInvite('token')],
      [users.me(), users.update({}), users.find('5'), users.verifyPassword('x'), users.deleteSelf(credentials)],
      [users.changePassword({ newPassword: 'x' }), users.deleteFederationIdentity({ origins: [], mode: 'soft' })],
      [uploads.send(new Blob(['x'])), instance.info()],
      [invites.create(invite), invites.list(), invites.change('5', {}), invites.revoke('5'), invites.reinstate('5')],
      [invites.remove('5'), invites.listRedemptions('5')],
      [admin.listUsers(), admin.setRole('5', true), admin.resetPassword('5'), admin.deleteUser('5')],
      [admin.settings(), admin.changeSettings({}), admin.listAudit()],
      [peers.initiate(home), peers.list(), peers.revoke('5'), peers.listApprovalRequests()],
      [peers.approve('5'), peers.deny('5')],
    ].flat()
    await Promise.allSettled(calls)

    const made = network.sent.map(({ method, url, token }) => {
      const path = new URL(url).pathname.replace(/\/5(?=\/|$)/, '/:id')
      return `${method} ${path} ${token === null ? 'open' : 'bearer'}`
    })
    const inContract = Object.values(endpoints)
      .filter(({ access, path }) => access !== 'peer' && path !== '/api/federation/peer/accept')
      .filter(({ path }) => path !== '/api/uploads/:filename') // an address for pictures, not a call
      .map(({ method, path, access }) => `${method} ${path} ${access === 'anyone' ? 'open' : 'bearer'}`)
    expect(made).to.have.members(inContract)
  })

  it('reads what the contract says a user is', () => {
    const asRead = (user: UserReply): Omit<User, 'avatarColor' | 'isDeleted' | 'showActivity'> => user

    expect(asRead).to.be.a('function') // the compiler is the test
  })

  it('gives errors with status, message, extra fields and request id', async () => {
    const { api, network } = buildApi()
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    network.answer(`DELETE ${home}/api/users/@me`, {
      status: 400,
      body: { error: 'You own spaces', statusCode: 400, ownedSpaces },
      headers: { 'x-request-id': 'r1' },
    })

    const error = await failureOf(api.users.deleteSelf({ username: 'alice', password: 'x' }))

    expect(error).to.be.instanceOf(ApiError)
    expect(error).to.deep.include({ status: 400, message: 'You own spaces', fields: { ownedSpaces }, requestId: 'r1' })
    expect(listOwnedSpaces(error)).to.deep.equal(ownedSpaces)
    expect(listOwnedSpaces(new Error('other'))).to.deep.equal([])
  })

  it('treats 429 as a rate-limit error with a countdown', async () => {
    const { api, network } = buildApi()
    const limitedBy = async (reply: object) => {
      network.answer(me, { status: 429, ...reply })
      return failureOf(api.users.me())
    }
    const body = { statusCode: 429, error: 'Too Many Requests', message: 'Rate limit exceeded', retryAfter: 41.2 }

    expect(await limitedBy({ body }))
      .to.be.instanceOf(RateLimited)
      .and.include({ status: 429, retryAfter: 42 })
    expect(await limitedBy({ headers: { 'retry-after': '7' } })).to.include({ retryAfter: 7 })
    expect(await limitedBy({ body: 'a proxy page' })).to.include({ retryAfter: 60 })
  })

  it('gives NetworkFailure when no answer comes, at once or within 30 seconds', async () => {
    const { api, clock, network } = buildApi()
    network.answer(me, 'down')
    const down = await failureOf(api.users.me())
    network.answer(me, 'hang')
    const hanging = failureOf(api.users.me())
    await clock.advance(30_000)

    expect(down).to.be.instanceOf(NetworkFailure).and.include({ origin: home, timedOut: false })
    expect(await hanging)
      .to.be.instanceOf(NetworkFailure)
      .and.include({ timedOut: true })
    expect(clock.waiting()).to.equal(0)
  })

  it('ends with an AbortError when the signal fires, before or during the call', async () => {
    const { api, clock, network } = buildApi()
    network.answer(me, 'hang')
    const giveUp = new AbortController()
    const during = failureOf(api.users.me({ signal: giveUp.signal }))
    await settle()
    giveUp.abort('any reason')
    const before = failureOf(api.users.me({ signal: giveUp.signal }))

    expect(isAborted(await during)).to.equal(true)
    expect(isAborted(await before)).to.equal(true)
    expect(clock.waiting()).to.equal(0)
  })

  it('does not break on answers that are no JSON', async () => {
    const { api, network } = buildApi()
    network.answer(me, { status: 502, body: '<html>' })
    expect(await failureOf(api.users.me())).to.include({ name: 'ApiError', status: 502 })

    network.answer(me, { status: 200, body: '<html>' })
    expect(await failureOf(api.users.me())).to.include({ name: 'ApiError', status: 200 })
  })

  it('tells of a refused token, but not of refused credentials', async () => {
    const { api, network, refused } = buildApi()
    network.answer(me, { status: 401, body: { error: 'Invalid token' } })
    network.answer(`POST ${home}/api/auth/login`, { status: 401, body: { error: 'Invalid username or password' } })

    await failureOf(api.auth.login({ username: 'alice', password: 'x' }))
    expect(refused).to.deep.equal([])
    await failureOf(api.users.me())

    expect(refused).to.deep.equal(['t'])
  })

  it('takes the refusals of check-username for what they are: answers with a reason', async () => {
    const { api, network } = buildApi()
    const answer = { available: false, reason: 'Registration is currently closed' }
    network.answer(`GET ${home}/api/auth/check-username`, { status: 403, body: { ...answer, error: 'Closed' } })

    expect(await api.auth.checkUsername('alice')).to.deep.equal(answer)
  })

  it('sends a file as multipart in the field file', async () => {
    let body: unknown
    const clock = createFakeClock()
    const fetch = async (_: string, init: RequestInit) => {
      body = init.body
      return new Response('{"filename":"f.webp"}', { status: 201 })
    }
    const api = createApi({ origin: home, fetch, clock })

    const { filename } = await api.uploads.send(new Blob(['png'], { type: 'image/png' }))

    expect((body as FormData).get('file')).to.be.instanceOf(Blob)
    expect(api.uploads.url(filename)).to.equal(`${home}/api/uploads/f.webp`)
    expect(api.uploads.url(null)).to.equal(null)
  })
})
