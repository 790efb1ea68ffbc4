import { expect } from 'chai'
import { buildReady, buildToken, buildUser } from '../../test/builders.ts'
import { createFakeClock, settle } from '../../test/fake-clock.ts'
import { buildClient, buildConnectedClient, createFakeStorage, home, remote } from '../../test/harness.ts'
import type { RunAlone, WatchActivity } from '../platform.ts'
import { createRenewals } from './renewal.ts'

const day = 86_400
const hourMs = 3_600_000
const lifetime = 30 * day
const issuedAt = 1_700_000_000
const renewPath = `POST ${home}/api/users/@me/renew`
const token = buildToken('1', 'first', { iat: issuedAt, exp: issuedAt + lifetime })
const fresh = buildToken('1', 'fresh', { iat: issuedAt + lifetime / 2, exp: issuedAt + 1.5 * lifetime })
/** The server's time, by the age of the first token. */
const readyAt = (ageSeconds: number) => buildReady({ serverTime: (issuedAt + ageSeconds) * 1000 })

type Tab = { storage?: ReturnType<typeof createFakeStorage>; runAlone?: RunAlone; token?: string; idleMs?: number }

/** A tab of a person; `act` is what a person does. */
async function openTab(options: Tab = {}) {
  let active: () => void = () => undefined
  const watchActivity: WatchActivity = (listener) => {
    active = listener
    return () => undefined
  }
  const { storage, runAlone } = options
  const built = buildClient(storage, { watchActivity, ...(runAlone && { runAlone }) })
  built.network.answer(renewPath, { body: { token: fresh } })
  await built.clock.advance(options.idleMs ?? 0)
  built.client.session.initSession(options.token ?? token, buildUser())
  return {
    ...built,
    act: async () => {
      active()
      await settle()
    },
    renewals: () => built.network.sentTo(renewPath).length,
    currentToken: () => built.client.session.getSnapshot().token,
  }
}

/** Contract: 3, renew. */
describe('the renewal of a session', () => {
  it('comes when half of the lifetime has passed and the person does something, and the socket goes on by the fresh token', async () => {
    const tab = await openTab()
    const socket = tab.sockets.last()
    socket.serverSends(readyAt(lifetime / 2 - 5))
    await tab.act()
    expect(tab.renewals()).to.equal(0)

    await tab.clock.advance(5_000)
    expect(tab.renewals()).to.equal(0)
    await tab.act()

    expect([tab.renewals(), tab.currentToken()]).to.deep.equal([1, fresh])
    expect(tab.storage.getItem('service_token')).to.equal(fresh)
    expect(socket.sent.at(-1)).to.deep.equal({ type: 'auth', token: fresh })
    await tab.act()
    expect(tab.renewals()).to.equal(1)
  })

  it('waits for the person: nobody was there since five minutes before the socket came back', async () => {
    const tab = await openTab({ idleMs: 5 * 60_000 + 1 })
    tab.sockets.last().serverSends(readyAt(lifetime / 2))
    await settle()
    expect(tab.renewals()).to.equal(0)

    await tab.act()

    expect(tab.renewals()).to.equal(1)
  })

  it('comes after the sleep of a computer whose clock stood still meanwhile', async () => {
    const tab = await openTab()
    tab.sockets.last().serverSends(readyAt(2 * day))
    await tab.act()
    tab.sockets.last().breaks()
    await tab.clock.advance(500)
    tab.sockets.last().serverAccepts()
    expect(tab.renewals()).to.equal(0)

    tab.sockets.last().serverSends(readyAt(lifetime / 2 + day))
    await settle()

    expect([tab.renewals(), tab.currentToken()]).to.deep.equal([1, fresh])
  })

  it('leaves a token alone that lives for a day or less', async () => {
    const short = buildToken('1', 'short', { iat: issuedAt, exp: issuedAt + day })
    const tab = await openTab({ token: short })
    tab.sockets.last().serverSends(readyAt(day - 1))
    await tab.act()

    expect(tab.renewals()).to.equal(0)
  })

  it('is tried once an hour while it fails, and the session goes on', async () => {
    const tab = await openTab()
    tab.network.answer(renewPath, { status: 403, body: { error: 'Off', statusCode: 403, code: 'renewal_off' } })
    tab.sockets.last().serverSends(readyAt(lifetime / 2))
    await tab.act()
    await tab.act()
    expect(tab.renewals()).to.equal(1)
    await tab.clock.advance(hourMs)
    await tab.act()

    expect([tab.renewals(), tab.currentToken()]).to.deep.equal([2, token])
  })

  it('is made by one of several tabs, and the others take its token over', async () => {
    const storage = createFakeStorage()
    let isRunning = false
    const runAlone: RunAlone = async (run) => {
      if (isRunning) return
      isRunning = true
      await run().finally(() => (isRunning = false))
    }
    const shared = { storage, runAlone }
    const tabs = [await openTab(shared), await openTab(shared), await openTab(shared)]
    for (const { sockets } of tabs) sockets.last().serverSends(readyAt(lifetime / 2))
    await Promise.all(tabs.map(({ act }) => act()))
    for (const { otherTabChanged } of tabs) otherTabChanged('service_token')
    for (const { act } of tabs) await act()

    expect(tabs.reduce((sum, { renewals }) => sum + renewals(), 0)).to.equal(1)
    expect(tabs.map(({ currentToken }) => currentToken())).to.deep.equal([fresh, fresh, fresh])
  })

  it('is not held up by one at an instance that does not answer', async () => {
    const names = new Set<string>()
    const runAlone: RunAlone = async (run, name) => {
      if (names.has(name)) return
      names.add(name)
      await run().finally(() => names.delete(name))
    }
    const origins: string[] = []
    const sessionAt = (origin: string, renew: () => Promise<void>) => ({
      origin,
      readToken: () => token,
      renew: () => (origins.push(origin), renew()),
    })
    const renewals = createRenewals({ clock: createFakeClock(), runAlone })
    const silent = sessionAt(remote, () => new Promise(() => undefined))
    const own = sessionAt(home, () => Promise.resolve())
    for (const session of [silent, own]) renewals.connected(session, (issuedAt + lifetime / 2) * 1000)
    await settle()

    expect(origins).to.deep.equal([remote, home])
  })

  it('and a change of the password go one after the other: the newest token stays', async () => {
    const tab = await openTab()
    const changed = buildToken('1', 'changed', { iat: issuedAt + lifetime / 2 + 1, exp: issuedAt + 2 * lifetime })
    tab.network.answer(`POST ${home}/api/users/@me/change-password`, { body: { token: changed } })
    tab.sockets.last().serverSends(readyAt(lifetime / 2))

    await Promise.all([tab.act(), tab.client.changePassword({ currentPassword: 'a', newPassword: 'b' })])

    expect([tab.renewals(), tab.currentToken()]).to.deep.equal([1, changed])
    expect(tab.storage.getItem('service_token')).to.equal(changed)
  })

  it('is made for a connected instance too, and by a program as long as it is connected', async () => {
    const built = await buildConnectedClient()
    const there = buildToken('77', 'there', { iat: issuedAt, exp: issuedAt + lifetime })
    built.network.answer(`POST ${remote}/api/users/@me/renew`, { body: { token: 'fresh there' } })
    built.network.answer(`POST ${remote}/api/users/@me/change-password`, { body: { token: there } })
    await built.client.passwordPropagation.propagate('new password')
    const [own, other] = built.sockets.opened
    own!.serverSends(buildReady())
    other!.serverSends(readyAt(lifetime / 2 - 5))
    await built.clock.advance(5_000)
    expect(built.network.sentTo(`POST ${remote}/api/users/@me/renew`)).to.deep.equal([])

    own!.serverSends({ type: 'pong' })
    await settle()

    expect(built.client.connections.find(remote)?.token).to.equal('fresh there')
    expect(other!.sent.at(-1)).to.deep.equal({ type: 'auth', token: 'fresh there' })
  })
})
