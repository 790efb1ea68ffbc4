import { createHmac } from 'node:crypto'
import { createConnection } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import {
  callerHeader,
  createSigningKeys,
  createTokenKey,
  signCaller,
  signOperator,
  signToken,
  type Caller,
} from '@gatehouse/auth'
import { connectNats } from '@gatehouse/bus'
import {
  accountEvents,
  accountStatesQuery,
  checkHomeEpoch,
  endpoints,
  operatorEndpoints,
  profileChanged,
  serviceNames,
  variablePrefix,
  type Endpoint,
  type ServiceName,
  sessionEndingEvents,
} from '@gatehouse/contracts'
import { startNats } from '@gatehouse/local-servers'
import { capturedLog, eventually } from '@gatehouse/test-kit'
import { upstreamQuestions } from '@gatehouse/upstreams'
import { expect } from 'chai'
import { connect, Events } from 'nats'
import type { Role } from '../cluster/cluster.ts'
import { callService } from '../calls/operator-calls.ts'
import { natsConfigOf, makeSecrets, onDatabase, startContainerForm } from './container-form.ts'
import { postJson } from './program.ts'
import { readText } from './read-manifests.ts'

const account = { username: 'founder', password: 'a long enough password' }
const roles: readonly Role[] = ['gateway', ...serviceNames]
const accountStatesOfIdentity = { method: 'POST', path: accountStatesQuery.path, service: 'identity' } as const
/** A variable that services no longer read. */
const leftSecret = 'an internal secret that is left to identity'
const others = (role: Role) => serviceNames.filter((name) => name !== role)

/** Who holds a service's environment can do the work of that service and nothing else. Contract: 8, Keys; Design: invariant 6. */
describe('the environment of one service, read by an attacker', () => {
  const scope = new AsyncDisposableStack()
  let form: Awaited<ReturnType<typeof startContainerForm>>
  let founder: { id: string; token: string }

  before(async () => {
    form = await startContainerForm(scope, {
      environmentOf: (role) => (role === 'identity' ? { INTERNAL_SECRET: leftSecret } : {}),
    })
    const { body } = await postJson(`${form.cluster.gateways[0]}/api/auth/register`, account)
    founder = { id: (body.user as { id: string }).id, token: String(body.token) }
  })
  after(() => scope.disposeAsync())

  const urlOf = (name: ServiceName): string => form.cluster.processes.find(({ service }) => service === name)!.url
  const asAdmin = (): Caller => ({
    address: '127.0.0.1',
    account: { userId: founder.id, username: 'founder', isAdmin: true, tokenIssuedAt: Math.floor(Date.now() / 1000) },
  })

  async function send(
    name: ServiceName,
    { method, path }: { method: string; path: string },
    token: string,
    body?: object,
  ) {
    const response = await fetch(urlOf(name) + path.replace(/:\w+/g, founder.id), {
      method,
      headers: { [callerHeader]: token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json().catch(() => ({}))) as Record<string, unknown> }
  }

  const valuesOf = (environment: Record<string, string>): string[] =>
    [...new Set(Object.values(environment).flatMap((text) => [text, ...text.split(/\s+/)]))].filter(Boolean)

  /** What can be made of every value, as a caller and as the operator, signed, also under the name of the genuine key, and as an HMAC. */
  function forgeries(environment: Record<string, string>, audience: ServiceName) {
    const options = { issuer: 'http://localhost', audience, now: Date.now() }
    const genuine = [
      signCaller(createSigningKeys('gateway', form.secret('internal_secret')), asAdmin(), options),
      signOperator(createSigningKeys('operator', form.secret('operator_secret')), options),
    ]
    const headers = genuine.map((token) => token.split('.')[0])
    const named = (token: string) => [
      token,
      ...headers.map((header) => [header, ...token.split('.').slice(1)].join('.')),
    ]
    return valuesOf(environment).flatMap((value) => {
      const [asGateway, asOperator] = [createSigningKeys('gateway', value), createSigningKeys('operator', value)]
      return {
        callers: [asGateway, asOperator]
          .flatMap((keys) => named(signCaller(keys, asAdmin(), options)))
          .concat(signHmac(value, asAdmin())),
        operators: [asOperator, asGateway]
          .flatMap((keys) => named(signOperator(keys, options)))
          .concat(signHmac(value, { address: '127.0.0.1', account: null, operator: true })),
      }
    })
  }

  for (const role of roles) {
    it(`${role}: signs no operator${role === 'gateway' ? '' : ' and no caller'}, for any service and any endpoint`, async () => {
      const environment = form.secretsOf(role)
      expect(Object.keys(environment)).to.not.be.empty
      for (const name of serviceNames) {
        const forged = forgeries(environment, name)
        const tokens = [
          ...forged.flatMap(({ operators }) => operators),
          ...(role === 'gateway' ? [] : forged.flatMap(({ callers }) => callers)),
        ]
        const rows = [...Object.values(endpoints), ...Object.values(operatorEndpoints)].filter(
          ({ service }) => service === name,
        )
        // Each token at one endpoint at least, each endpoint with one token at least.
        const tries = Array.from({ length: Math.max(tokens.length, rows.length) }, (_, index) => index)
        for (const index of tries) {
          const [row, token] = [rows[index % rows.length]!, tokens[index % tokens.length]!]
          const { status } = await send(name, row, token)
          // What the gateway's key signed is a caller, who is nobody and never the operator.
          const open = row.access === 'anyone' ? [200] : []
          const refused = role === 'gateway' ? [400, 401, 403, 404, 415, ...open] : [403]
          expect(refused, `${row.method} ${row.path} with what ${role} holds`).to.include(status)
        }
      }
    })
  }

  it('signed by the gateway for an upstream, opens the endpoints of upstreams alone', async () => {
    const keys = createSigningKeys('gateway', form.secret('internal_secret'))
    const upstream = { name: 'chat', rights: ['accounts', 'presence'] }
    const outcomes: string[] = []
    for (const name of serviceNames) {
      const options = { issuer: 'http://localhost', audience: name, now: Date.now() }
      const token = signCaller(keys, { address: '127.0.0.1', account: null, upstream }, options)
      const rows = [...Object.values<Endpoint>(endpoints), ...Object.values(operatorEndpoints), accountStatesOfIdentity]
      for (const row of rows.filter(({ service }) => service === name)) {
        const body = row.method === 'POST' ? { ids: [founder.id], userIds: [founder.id] } : undefined
        const { status } = await send(name, row, token, body)
        const isOwn = 'access' in row && row.access === 'upstream'
        if (status !== (isOwn ? 200 : 403)) outcomes.push(`${row.method} ${row.path}: ${status}`)
      }
    }

    expect(outcomes).to.deep.equal([])
  })

  it('signs no token of a user, but with what the gateway and identity hold', async () => {
    const isAccepted = async (value: string) => {
      const subject = { userId: founder.id, username: 'founder' }
      const token = signToken(createTokenKey(value), subject, { expiresIn: '1h', now: Date.now() })
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${form.cluster.gateways[0]}/api/admin/users`, { headers })).status === 200
    }
    const accepted: Role[] = []
    for (const role of roles) {
      const accepts = await Promise.all(valuesOf(form.secretsOf(role)).map(isAccepted))
      if (accepts.includes(true)) accepted.push(role)
    }

    expect(accepted).to.deep.equal(['gateway', 'identity'])
  })

  it('creates no account and no admin with what federation-fanout holds; the operator’s key and the gateway’s do', async () => {
    const forged = forgeries(form.secretsOf('federation-fanout'), 'identity')
    const statuses = new Set<number>()
    for (const token of forged.flatMap(({ operators, callers }) => [...operators, ...callers]))
      statuses.add((await send('identity', operatorEndpoints.createUser, token, { username: 'intruder' })).status)
    const deps = {
      services: { identity: [urlOf('identity')] },
      keys: createSigningKeys('operator', form.secret('operator_secret')),
      clock: { now: Date.now },
    }
    const made = await callService(deps, { endpoint: 'createUser', body: { username: 'appointed' } })
    const ofGateway = createSigningKeys('gateway', form.secret('internal_secret'))
    const listed = await send(
      'identity',
      endpoints.listUsers,
      signCaller(ofGateway, asAdmin(), { issuer: '', audience: 'identity', now: Date.now() }),
    )

    expect([...statuses]).to.deep.equal([403])
    expect([made.status, listed.status]).to.deep.equal([201, 200])
    expect(JSON.stringify(listed.body)).to.include('appointed').and.to.not.include('intruder')
  })

  it('signs no caller where INTERNAL_SECRET is left to a service', async () => {
    const ofGateway = createSigningKeys('gateway', form.secret('internal_secret'))
    const options = { issuer: '', audience: 'identity', now: Date.now() }
    const ofLeft = createSigningKeys('gateway', leftSecret)
    const tokens = [
      signHmac(leftSecret, asAdmin()),
      signCaller(ofLeft, asAdmin(), options),
      signCaller(ofGateway, asAdmin(), options),
    ]
    const statuses = await Promise.all(
      tokens.map(async (token) => (await send('identity', endpoints.listUsers, token)).status),
    )

    expect(statuses).to.deep.equal([403, 403, 200])
  })

  /** Which subjects each may publish to, and subscribe to, beside those of JetStream. */
  const work: Record<Role, { publish: RegExp; subscribe: RegExp }> = {
    gateway: { publish: /^$/, subscribe: /^_INBOX\.gateway\./ },
    identity: {
      publish:
        /^gatehouse\.(event\.user\.|change\.(user|invite\.redeemed|instance\.settings-changed|registration)\.|call\.(federation|session-gateway)\.|upstream\.\w+\.(audience|owned-spaces|export|deletion)$)/,
      subscribe: /^(_INBOX\.identity\.|gatehouse\.call\.identity\.)/,
    },
    invite: { publish: /^gatehouse\.change\.invite\./, subscribe: /^_INBOX\.invite\./ },
    'session-gateway': {
      publish:
        /^gatehouse\.(broadcast\.|broadcast-to\.|upstream\.\w+\.(message|ready|audience|members)$|call\.identity\.read-token-claims\.v1$)/,
      subscribe:
        /^(_INBOX\.session-gateway\.|gatehouse\.(broadcast\.|broadcast-to\.|call\.session-gateway\.|upstream\.\w+\.deliver$))/,
    },
    'federation-fanout': {
      publish:
        /^gatehouse\.(change\.instance\.peer-changed\.|call\.identity\.|broadcast\.event\.user\.remote-presence-reported\.v1$)/,
      subscribe: /^(_INBOX\.federation-fanout\.|gatehouse\.call\.federation\.)/,
    },
    openid: { publish: /^$/, subscribe: /^_INBOX\.openid\./ },
  }

  const questionSubjects = Object.values(upstreamQuestions).map(({ subject }) => subject)
  const subjects = async (): Promise<string[]> => {
    const contracts = Object.values(await import('@gatehouse/contracts')) as { subject?: string; stream?: unknown }[]
    const events = contracts.filter((one) => typeof one.subject === 'string' && 'stream' in one)
    const calls = contracts.filter((one) => typeof one.subject === 'string' && !('stream' in one))
    return [
      ...events.flatMap(({ subject, stream }) =>
        stream
          ? [`gatehouse.${subject}`, `gatehouse.${subject!.replace(/^event/, 'change')}.1`]
          : [`gatehouse.broadcast.${subject}`, `gatehouse.broadcast-to.node.${subject}`],
      ),
      ...calls.map(({ subject }) => `gatehouse.${subject}`),
      ...['message', 'ready', 'deliver', ...questionSubjects].map((kind) => `gatehouse.upstream.chat.${kind}`),
      ...roles.flatMap((role) => [`_INBOX.${role}.x`, `_INBOX.${role}.>`]),
      '_INBOX.>',
      '_INBOX_chat.>',
      'gatehouse.>',
      'gatehouse.event.>',
      'gatehouse.change.>',
      '>',
      '$SYS.>',
    ]
  }

  /** Taking, deleting and changing what a group of another service has yet to read. */
  const consumersOf = (group: string, events: readonly { subject: string }[]): string[] =>
    events.flatMap(({ subject }) => {
      const consumer = `gatehouse-events.${group}_${subject.replaceAll('.', '_')}`
      return [
        ...['MSG.NEXT', 'DELETE', 'CREATE', 'DURABLE.CREATE'].map((call) => `$JS.API.CONSUMER.${call}.${consumer}`),
        `$JS.API.CONSUMER.CREATE.${consumer}.gatehouse.${subject}`,
      ]
    })

  async function connectAs(role: Role, url = form.secretsOf(role)['NATS_URL']!) {
    const { username: user, password: pass, host } = new URL(url)
    const connection = await connect({ servers: host, user, pass, reconnect: false, inboxPrefix: `_INBOX.${role}` })
    scope.defer(() => connection.close())
    const refused = new Set<string>()
    void (async () => {
      for await (const { type, permissionContext } of connection.status())
        if (type === Events.Error) refused.add(`${permissionContext?.operation} ${permissionContext?.subject}`)
    })()
    return { connection, refused }
  }

  for (const role of roles) {
    it(`${role}: publishes and reads the subjects of its own work in NATS, and nobody else's`, async () => {
      const { connection, refused } = await connectAs(role)
      const all = await subjects()
      const published = all.filter((subject) => !/[*>]/.test(subject))
      const stolen = [
        '$JS.API.STREAM.DELETE',
        '$JS.API.STREAM.PURGE',
        '$JS.API.STREAM.MSG.GET',
        '$JS.API.DIRECT.GET',
      ].map((call) => `${call}.gatehouse-events`)
      if (role !== 'gateway') stolen.push(...consumersOf('account-states', accountEvents))
      if (role === 'session-gateway') stolen.push(...consumersOf('federation-profiles', [profileChanged]))
      if (role === 'session-gateway') stolen.push(...consumersOf('openid', sessionEndingEvents))
      if (['identity', 'invite', 'federation-fanout', 'openid'].includes(role))
        stolen.push('$JS.API.CONSUMER.CREATE.gatehouse-events')

      const { publish, subscribe } = work[role]
      const ownPublished = published.filter((subject) => publish.test(subject))
      // What is no event is refused or ignored by its readers; own subjects are told by what is not refused.
      for (const subject of [...published.filter((one) => !publish.test(one)), ...stolen])
        connection.publish(subject, '{}')
      for (const subject of all) connection.subscribe(subject, { callback: () => undefined })
      const expected = [
        ...published.filter((one) => !publish.test(one)).map((subject) => `publish ${subject}`),
        ...stolen.map((subject) => `publish ${subject}`),
        ...all.filter((one) => !subscribe.test(one)).map((subject) => `subscription ${subject}`),
      ]
      await connection.flush()
      await eventually('every refusal', () => expected.every((one) => refused.has(one))).catch(() => undefined)

      expect([...refused]).to.have.members([...new Set(expected)])
      if (role !== 'gateway') expect([...ownPublished, ...all.filter((one) => subscribe.test(one))]).to.not.be.empty
    })
  }

  it('reads nobody else’s replies, where everybody could read all before', async () => {
    const overheard = async (config: string, secret: (name: string) => string) => {
      await using nats = await startNats({ config })
      const urlOf = (role: Role) => secret(`nats_url_${role}`).replace('nats:4222', `127.0.0.1:${nats.port}`)
      const { connection, refused } = await connectAs('invite', urlOf('invite'))
      const heard: string[] = []
      connection.subscribe('_INBOX.>', { callback: (error, message) => void (error ?? heard.push(message.subject)) })
      await connection.flush()
      const { log } = capturedLog()
      const ofFanout = { url: urlOf('federation-fanout'), name: 'federation-fanout', log, createsStreams: false }
      await using fanout = await connectNats(ofFanout)
      await using identity = await connectNats({ url: urlOf('identity'), name: 'identity', log })
      await using _ = await fanout.respond(checkHomeEpoch, async () => ({ outcome: 'unknown' as const }))
      const reply = await identity.request(
        checkHomeEpoch,
        { host: 'peer.example', timeoutMs: 100 },
        { timeoutMs: 5_000 },
      )
      expect(reply).to.deep.equal({ outcome: 'unknown' })
      await connection.flush()
      await connection.close()
      return {
        replies: heard.filter((subject) => subject.startsWith('_INBOX.identity.')).length,
        refused: [...refused],
      }
    }
    const { secret } = makeSecrets(scope)
    const opened = readText('deploy/nats/nats.conf').replace(/"_INBOX\.[a-z-]+\.>"/g, '"_INBOX.>"')

    const before = await overheard(natsConfigOf(secret, opened), secret)
    const now = await overheard(natsConfigOf(secret), secret)

    expect(before.replies).to.be.greaterThan(0)
    expect(now).to.deep.equal({ replies: 0, refused: ['subscription _INBOX.>'] })
  })

  const forbidden: Record<ServiceName, string[]> = {
    identity: [
      'select secret from peers',
      'update peers set status = status',
      'select * from federation_deliveries',
      'delete from session_nodes',
    ],
    invite: [
      "update users set username = 'x'",
      'select password_hash from users',
      'select secret from peers',
      'insert into users default values',
      'select * from federation_credentials',
      'delete from presences',
      'update instance_settings set worker_id = 1',
    ],
    'session-gateway': [
      'update users set password_changed_at = 0',
      'select password_hash from users',
      'select secret from peers',
      'select * from outbox',
      'select * from invites',
      'delete from users',
      'insert into audit_log default values',
    ],
    'federation-fanout': [
      'update users set is_admin = true',
      'select password_hash from users',
      'delete from users',
      'insert into users default values',
      'select * from federation_credentials',
      'update instance_settings set worker_id = 1',
      'insert into invites default values',
      'delete from session_nodes',
      'delete from audit_log',
    ],
    openid: [
      'update users set is_admin = true',
      'select password_hash from users',
      'delete from users',
      'insert into users default values',
      'select secret from peers',
      'select * from outbox',
      'update instance_settings set openid_enabled = true',
      'delete from audit_log',
    ],
  }

  for (const role of serviceNames) {
    it(`${role}: changes and reads no table of another in PostgreSQL, and is no other role`, async () => {
      const url = form.secretsOf(role)['DATABASE_URL']!
      for (const sql of forbidden[role]) {
        const refused = await onDatabase(url, sql).catch((error: unknown) => error)
        expect(refused, sql).to.have.property('code', '42501')
      }
      for (const name of [...others(role), 'gatehouse'] as const) {
        const user = name === 'gatehouse' ? name : `gatehouse_${variablePrefix(name).toLowerCase()}`
        expect(await onDatabase(url, `set role ${user}`).catch((error: unknown) => error)).to.have.property(
          'code',
          '42501',
        )
        const other = new URL(url)
        other.username = user
        expect(await onDatabase(other.href, 'select 1').catch((error: unknown) => error), user).to.have.property(
          'code',
          '28P01',
        )
      }
      expect(await onDatabase(url, 'select count(*) from users')).to.have.length(1)
    })
  }

  it('hands no event of another service to its outbox, which identity would publish as its own', async () => {
    const forge = async (role: ServiceName, subject: string) =>
      await onDatabase(
        form.secretsOf(role)['DATABASE_URL']!,
        `insert into outbox (event_id, subject, payload) values (gen_random_uuid(), '${subject}', '{}')`,
      ).then(
        () => 'inserted',
        (error: { code?: string }) => error.code,
      )
    const foreign = {
      invite: 'event.user.role-changed.v1',
      'federation-fanout': 'event.user.role-changed.v1',
      identity: 'event.invite.created.v1',
    }
    for (const [role, subject] of Object.entries(foreign))
      expect(await forge(role as ServiceName, subject), role).to.equal('42501')

    const owner = new URL(form.cluster.postgres.url).href
    await onDatabase(
      owner,
      `insert into outbox (event_id, subject, payload) values (gen_random_uuid(), 'event.user.deleted.v9', '{}')`,
    )
    const seenBy = async (role: ServiceName) =>
      (await onDatabase(form.secretsOf(role)['DATABASE_URL']!, 'select subject from outbox')).map(
        ({ subject }) => subject,
      )
    expect([await seenBy('identity'), await seenBy('invite'), await seenBy('federation-fanout')]).to.deep.equal([
      ['event.user.deleted.v9'],
      [],
      [],
    ])
    expect(
      await onDatabase(form.secretsOf('invite')['DATABASE_URL']!, 'delete from outbox returning id'),
    ).to.deep.equal([])
    await onDatabase(owner, 'alter table outbox disable row level security')
    expect(await forge('federation-fanout', 'event.user.role-changed.v9')).to.equal('inserted')
    await onDatabase(owner, 'delete from outbox; alter table outbox enable row level security')
  })

  it('opens Redis as the gateway and identity only', async () => {
    const url = new URL(form.secretsOf('gateway')['REDIS_URL']!)
    /** The first word of the answer to a read, after AUTH when there is a password. */
    const open = async (password?: string): Promise<string> => {
      const socket = createConnection(Number(url.port), url.hostname)
      const command = (...words: string[]) =>
        `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`
      socket.end((password === undefined ? '' : command('AUTH', password)) + command('GET', 'x'))
      const answers = (await readAll(socket)).split('\r\n')
      return answers.map((line) => line.split(' ')[0]!).find((word) => word !== '+OK')!
    }
    expect(roles.filter((role) => 'REDIS_URL' in form.secretsOf(role))).to.have.members(['gateway', 'identity'])
    expect(await open(url.password)).to.equal('$-1')
    for (const role of ['invite', 'session-gateway', 'federation-fanout'] as const) {
      const values = Object.values(form.secretsOf(role)).flatMap((text) => [
        text,
        ...(URL.canParse(text) ? [new URL(text).password] : []),
      ])
      const outcomes = new Set([await open(), ...(await Promise.all(values.map((value) => open(value))))])
      expect([...outcomes], role).to.have.members(['-NOAUTH', '-WRONGPASS'])
    }
  })
})

function signHmac(secret: string, caller: Caller): string {
  const claims = Buffer.from(JSON.stringify({ ...caller, expiresAt: Date.now() + 30_000 })).toString('base64url')
  return `${claims}.${createHmac('sha256', secret).update(claims).digest('base64url')}`
}
