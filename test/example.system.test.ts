import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, type Client, type LiveError } from '@gatehouse/client'
import { deleteFederatedIdentity } from '@gatehouse/contracts'
import {
  capturedLog,
  countLockWaits,
  eventually,
  freePort,
  insertUser,
  openMigratedDatabase,
  answered,
} from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page, WebSocketRoute } from 'playwright-core'
import { connect } from 'nats'
import { startExample } from '../deploy/example/start-example.ts'

type Account = { token: string; id: string }
type Message = { id: string; text: string; author: { name: string } }
type Answer = { status: number; body: Record<string, never> }

const password = 'a long password'

describe('examples/chat', () => {
  const resources = new AsyncDisposableStack()
  let example: Awaited<ReturnType<typeof startExample>>
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  let browser: Browser
  let origin: string
  let ada: Account
  let grace: Account
  let adasPage: Page
  let gracesPage: Page
  let gracesSocket: WebSocketRoute
  /** Of the space that the two are in. */
  let spaceId: string
  let channel: string

  before(async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-example-'))
    resources.defer(() => rm(dataFolder, { recursive: true, force: true }))
    database = resources.use(await openMigratedDatabase({ connections: 4 }))
    const environment = { PORT: String(await freePort()), GATEHOUSE_DATA: dataFolder }
    const { log } = capturedLog()
    example = resources.use(
      await startExample({ environment, dataFolder, databaseUrl: database.url, log, restarts: false }),
    )
    ;({ origin } = example.config.publicAddress)
    browser = resources.adopt(await launchChromium(), (open) => open.close())
    ada = await register('ada')
    grace = await register('grace')
  })

  after(() => resources.disposeAsync())

  async function call(token: string, request: string, body?: object): Promise<Answer> {
    const [method = '', path = ''] = request.split(' ')
    const response = await fetch(`${example.instance.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  async function register(username: string): Promise<Account> {
    const { body } = await call('', 'POST /api/auth/register', { username, password })
    const { token, user } = body as unknown as { token: string; user: { id: string } }
    return { token, id: user.id }
  }

  async function openPage(token?: string, follow?: (socket: WebSocketRoute) => void): Promise<Page> {
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    if (follow) await page.routeWebSocket(/\/ws$/, follow)
    if (token) await page.addInitScript((kept) => localStorage.setItem('service_token', kept), token)
    await page.goto(`${origin}/api/chat`)
    return page
  }

  const say = async (page: Page, text: string) => {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
  }
  const posts = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
  const read = async (token: string) => (await call(token, `GET ${channel}`)).body as unknown as { messages: Message[] }

  it('lets two people talk, each of whom sees at once what the other writes and that the other is typing', async () => {
    adasPage = await openPage()
    await adasPage.getByLabel('Username', { exact: true }).fill('ada')
    await adasPage.getByLabel('Password').fill(password)
    await adasPage.getByRole('button', { name: 'Log in' }).click()
    gracesPage = await openPage(grace.token, (socket) => {
      gracesSocket = socket
      socket.connectToServer().onMessage((frame) => {
        if (!frame.includes('lost on the way')) socket.send(frame)
      })
    })
    await gracesPage.getByText('You are in no space yet').waitFor()

    await adasPage.getByLabel('Name of the new space').fill('Engines')
    await adasPage.getByRole('button', { name: 'Create', exact: true }).click()
    await adasPage.getByRole('button', { name: 'Space', exact: true }).click()
    await adasPage.getByLabel('Username to add').fill('Grace')
    await adasPage.getByRole('button', { name: 'Add member' }).click()
    await adasPage.getByText('grace (@grace)').waitFor()
    await adasPage.getByRole('button', { name: 'Close' }).click()
    await gracesPage.getByRole('button', { name: '# general' }).click()
    await gracesPage.getByText('Nobody has written here yet').waitFor()

    await adasPage.getByLabel('Message', { exact: true }).pressSequentially('The first')
    await gracesPage.getByText('ada is typing…').waitFor()
    await say(adasPage, 'The first message')
    await posts(gracesPage, 'The first message').waitFor()
    await say(gracesPage, 'and its answer <b>')
    await posts(adasPage, 'and its answer <b>').waitFor()

    expect(await gracesPage.getByText('is typing').count()).to.equal(0)
    const { body } = await call(ada.token, 'GET /api/spaces')
    const [space] = body.spaces as unknown as { id: string; channels: { id: string }[] }[]
    spaceId = space!.id
    channel = `/api/channels/${space!.channels[0]!.id}/messages`
    expect((await read(grace.token)).messages.map(({ text }) => text)).to.deep.equal([
      'The first message',
      'and its answer <b>',
    ])
  })

  it('answers only members, deletes only for the author, and refuses malformed input with 400', async () => {
    const [first] = (await read(ada.token)).messages
    const { body: own } = await call(grace.token, 'POST /api/spaces', { name: 'Compilers' })
    const [inside] = own.channels as unknown as { id: string }[]
    const foreign = `/api/channels/${inside!.id}/messages`
    const asked = async (token: string, request: string, body?: object) => (await call(token, request, body)).status

    expect([
      await asked(ada.token, `GET ${foreign}`),
      await asked(ada.token, `POST ${foreign}`, { text: 'let me in' }),
      await asked(ada.token, `GET /api/spaces/${String(own.id)}/members`),
      await asked(ada.token, `DELETE /api/spaces/${String(own.id)}`),
      await asked(grace.token, `DELETE ${channel}/${first!.id}`),
    ]).to.deep.equal([404, 404, 404, 404, 404])
    expect(await asked(grace.token, `POST /api/spaces/${spaceId}/members`, { username: 'ada' })).to.equal(403)
    expect([
      await asked(ada.token, 'GET /api/channels/9223372036854775808/messages'),
      await asked(ada.token, `POST ${channel}`, { text: '  ' }),
      await asked(ada.token, `POST ${channel}`, { text: 'x'.repeat(2_001) }),
      await asked(ada.token, `POST ${channel}`, { text: 'a\0b' }),
    ]).to.deep.equal([400, 400, 400, 400])
    expect(await asked(ada.token, `POST ${channel}`, { text: '🚪'.repeat(2_000) })).to.equal(201)
    expect(await asked('', `GET ${channel}`)).to.equal(401)
    expect(await asked(grace.token, `DELETE /api/spaces/${String(own.id)}`)).to.equal(200)
  })

  it('shows a message whose delivery was lost as soon as the next one comes', async () => {
    await say(adasPage, 'lost on the way')
    await posts(adasPage, 'lost on the way').waitFor()
    await say(adasPage, 'the next one')

    await posts(gracesPage, 'the next one').waitFor()
    expect(await posts(gracesPage, 'lost on the way').count()).to.equal(1)
  })

  it('stores nothing for an author whose deletion is under way', async () => {
    const { orm } = database
    let writing: Promise<Answer> | undefined
    await orm.em.fork().transactional(async (em) => {
      await em.execute('select id from users where id = ? for no key update', [grace.id])
      writing = call(grace.token, `POST ${channel}`, { text: 'too late' })
      await eventually('the message waits for the deletion', () => countLockWaits({ orm }), 30_000)
      await em.execute('update users set is_deleted = true where id = ?', [grace.id])
    })
    const { status } = await writing!
    await orm.em.fork().execute('update users set is_deleted = false where id = ?', [grace.id])

    expect(status).to.equal(404)
    expect(JSON.stringify(await read(ada.token))).to.not.include('too late')
  })

  it('loses no message that was answered when it is killed, and the pages recover by themselves', async () => {
    const answered: string[] = []
    const burst = (async () => {
      for (let number = 0; ; number += 1) {
        const text = `no.${number}.`
        const { status } = await call(grace.token, `POST ${channel}`, { text })
        if (status !== 201) return status
        answered.push(text)
        await pause(20) // or the limit of the prefix is reached
      }
    })()
    await eventually('some were answered', () => answered.length > 3, 30_000)
    await example.chat.kill()
    expect(await burst).to.be.oneOf([502, 503, 504])
    await say(adasPage, 'written while it was away')
    await adasPage.getByText('Your message is still here').waitFor()
    await gracesSocket.close({ code: 1012 })
    await gracesPage.getByText('The chat does not answer').waitFor()

    await example.chat.start()
    await posts(gracesPage, answered.at(-1)!).waitFor()
    await posts(adasPage, answered.at(-1)!).waitFor()
    await adasPage.getByRole('button', { name: 'Send' }).click()
    await posts(gracesPage, 'written while it was away').waitFor()

    const stored = (await read(ada.token)).messages.map(({ text }) => text)
    expect(stored).to.include.members(answered.slice(-30))
    expect(stored.filter((text) => text === 'written while it was away')).to.have.length(1)
    expect(await posts(gracesPage, 'written while it was away').count()).to.equal(1)
  })

  it('Tombstone: a soft deletion keeps the messages without the name, a full one deletes them, on open pages too', async () => {
    const hedy = await insertUser(database, { username: 'hedy', displayName: 'Hedy' })
    const emmy = await insertUser(database, {
      username: 'emmy@away.example',
      displayName: 'Emmy',
      homeInstance: 'away.example',
      homeUserId: '7',
    })
    for (const { id, username } of [hedy, emmy]) {
      expect((await call(ada.token, `POST /api/spaces/${spaceId}/members`, { username })).status).to.equal(201)
      const sql = 'insert into messages (id, channel_id, author_id, content) values (next_snowflake(), ?, ?, ?)'
      await database.orm.em.fork().execute(sql, [channel.split('/')[3], id, `from ${username}`])
    }
    await adasPage.reload()
    await posts(adasPage, 'Hedy').getByText('from hedy').waitFor()

    await answered(call(ada.token, `DELETE /api/admin/users/${hedy.id}`))
    await posts(adasPage, 'from hedy').waitFor({ state: 'detached' })
    const { bus } = example.instance.deps
    const identity = { homeUserId: '7', homeInstance: 'away.example', mode: 'soft' as const }
    await bus.request(deleteFederatedIdentity, identity, { timeoutMs: 30_000 })
    await posts(adasPage, 'Deleted User').getByText('from emmy@away.example').waitFor()

    const { messages } = await read(ada.token)
    expect(messages.filter(({ text }) => text.startsWith('from ')).map(({ author }) => author.name)).to.deep.equal([
      'Deleted User',
    ])
  })

  it('logs the page of a user out at once when an admin resets the password, after which the token writes nothing', async () => {
    await answered(call(ada.token, `POST /api/admin/users/${grace.id}/reset-password`))

    await gracesPage.getByText('Your password was reset').waitFor()
    expect(await gracesPage.evaluate(() => localStorage.getItem('service_token'))).to.equal(null)
    expect((await call(grace.token, `POST ${channel}`, { text: 'still here' })).status).to.equal(401)
    expect(JSON.stringify(await read(ada.token))).to.not.include('still here')
  })

  describe('and examples/chat-python beside it', () => {
    const clients: Client[] = []
    after(() => clients.forEach((client) => client.close()))
    let tess: Account
    const readHall = async () =>
      (await call(tess.token, 'GET /api/rooms/hall')).body as unknown as { messages: Message[] }

    async function signIn(username: string): Promise<Client> {
      const client = createClient({ origin: example.instance.url })
      clients.push(client)
      await client.logIn({ username, password })
      await eventually(`${username} is live`, () => client.live.getSnapshot().phase === 'ready')
      return client
    }

    it('has a database of its own, and takes and gives messages by requests and by sockets', async () => {
      const rosa = await register('rosa')
      tess = await register('tess')
      const [hers, other] = [await signIn('rosa'), await signIn('tess')]
      const heard: unknown[] = []
      other.live.on('rooms.said', ({ text }) => heard.push(text))

      const first = await call(tess.token, 'POST /api/rooms/hall', { text: 'by a request' })
      const { id } = await hers.live.send('rooms.say', { text: 'by a socket' })
      const refused = await hers.live.send('rooms.say', { text: ' ' }).catch(({ code }: LiveError) => code)
      const faulty = await call(rosa.token, 'POST /api/rooms/hall', {})
      const nowhere = await call(rosa.token, 'GET /api/rooms/cellar')

      await eventually('the other hears both', () => heard.length === 2)
      const { messages } = await readHall()
      expect(messages.map(({ text, author }) => [text, author.name])).to.deep.equal([
        ['by a socket', 'rosa'],
        ['by a request', 'tess'],
      ])
      expect([first.status, messages[0]!.id, refused, faulty.status, nowhere.status]).to.deep.equal([
        201,
        id,
        'message_refused',
        400,
        404,
      ])
    })

    it('learns of another name, and after an absence of a deletion, when nothing comes in that name any more', async () => {
      const rosa = clients[0]!
      await rosa.updateProfile({ displayName: 'Rosa Luna' })
      await eventually('her name is there', async () => (await readHall()).messages[0]!.author.name === 'Rosa Luna')
      await example.rooms.kill()
      await rosa.deleteAccount({ username: 'rosa', password })
      await example.rooms.start()

      await eventually('her message is gone', async () => (await readHall()).messages.length === 1)

      expect((await readHall()).messages[0]!.text).to.equal('by a request')
    })

    it('is right again after an absence of which no event is left, by asking what has changed since', async () => {
      const [vera, tom] = [await register('vera'), await register('tom')]
      await answered(call(vera.token, 'PATCH /api/users/@me', { displayName: 'Vera Rubin' }))
      for (const { token } of [vera, tom]) await answered(call(token, 'POST /api/rooms/hall', { text: 'before' }))
      const names = async () => (await readHall()).messages.map(({ author }) => author.name)
      expect(await names(), 'the name that everybody sees').to.include.members(['Vera Rubin', 'tom'])

      await example.rooms.kill()
      await answered(call(vera.token, 'DELETE /api/users/@me', { username: 'vera', password }))
      await answered(call(tom.token, 'PATCH /api/users/@me', { displayName: 'Major Tom' }))
      await forgetEvents()
      await example.rooms.start()

      await eventually('her message is gone', async () => !(await names()).includes('Vera Rubin'))
      await eventually('his name is there', async () => (await names()).includes('Major Tom'))
    })

    /** As a day does. */
    async function forgetEvents(): Promise<void> {
      const connection = await connect({ servers: example.natsUrl })
      const { streams } = await connection.jetstreamManager()
      for (const stream of ['gatehouse-events', 'gatehouse-changes']) {
        const isPublished = async () => (await streams.info(stream)).state.messages > 0
        await eventually('the events are published', isPublished)
        await eventually('no more come', async () => (await countOutbox()) === 0)
        await streams.purge(stream)
      }
      await connection.close()
    }
    const countOutbox = async () => (await database.orm.em.fork().execute('select 1 from outbox')).length

    it('tells who of its people is online', async () => {
      const { body } = await call(tess.token, 'GET /api/rooms/hall/people')
      const people = body.people as unknown as { id: string; name: string; online: boolean }[]

      expect(people.filter(({ online }) => online).map(({ name }) => name)).to.deep.equal(['tess'])
      expect(people.map(({ name }) => name)).to.include('Major Tom')
    })

    it('answers who sees whom come and go, its part of an export, and that a deletion is done', async () => {
      const olga = await register('olga')
      await answered(call(olga.token, 'POST /api/rooms/hall', { text: 'for her archive' }))
      const seen: string[] = []
      clients[1]!.live.on('presence_update', ({ userId, status }) => seen.push(`${userId} ${status}`))

      const hers = await signIn('olga')
      await eventually('tess sees olga come', () => seen.includes(`${olga.id} online`))
      expect(hers.live.getSnapshot().presences).to.have.property(tess.id, 'online')
      const archive = await hers.fetch('/api/users/@me/export', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password }),
      })
      const bytes = Buffer.from(await archive.arrayBuffer())
      expect([bytes.includes('services/rooms.json'), bytes.includes('services/rooms.incomplete.json')]).to.deep.equal([
        true,
        false,
      ])
      await hers.deleteAccount({ username: 'olga', password })

      await eventually('nothing is left of her', async () => !JSON.stringify(await readHall()).includes(olga.id))
      await eventually('tess sees olga go', () => seen.includes(`${olga.id} offline`))
      const isDone = async () => {
        const { body } = await call(ada.token, 'GET /api/admin/upstream-deletions')
        return !JSON.stringify(body).includes(olga.id)
      }
      await eventually('it is done for Gatehouse too', isDone)
    })

    it('answers nobody who does not come through the gateway', async () => {
      const answer = await fetch(example.roomsUrl)

      expect([answer.status, await answer.json()]).to.deep.equal([
        503,
        { error: 'The request did not come through the gateway', statusCode: 503 },
      ])
    })
  })
})
