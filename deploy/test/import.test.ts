import { mkdir, mkdtemp, readFile, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createEncryptionKey, credentialContext, decrypt, openPeerSecret } from '@gatehouse/auth'
import { systemRandom } from '@gatehouse/runtime'
import { createDataFolder, documentedCommand, migratedDatabase, removeFolder } from '@gatehouse/test-kit'
import { hashSync } from 'bcrypt'
import { expect } from 'chai'
import jwt from 'jsonwebtoken'
import pg from 'pg'
import sharp from 'sharp'
import { importDatabase } from '../cli/commands/import.ts'
import { newestVersion, writeOtherDatabase } from './other-server.ts'
import { fillDataFolder, postJson, startInstance, uploadsIn } from './program.ts'
import { runCommand } from './run-arguments.ts'

const password = 'correct horse battery'
const passwordHash = hashSync(password, 4).replace('$2b$', '$2a$')
const jwtSecret = 'the secret of the tokens of the other server'
const encryptionKey = createEncryptionKey('the secret that encrypts in the tests of the import')
const instanceId = '0f8fad5b-d9cb-469f-a165-70867728950e'
const createdAt = 1_750_000_000_000
const idOf = (n: number) => String((BigInt(createdAt - 1_704_067_200_000 + n) << 22n) + 7n)
const [ada, bob, gone, stub, far, twin] = [1, 2, 3, 4, 5, 6].map(idOf) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const local = { password_hash: passwordHash, created_at: createdAt, show_activity: 1, home_instance: null }
const changedAt = createdAt + 500_000_000

const users = [
  {
    ...local,
    id: ada,
    username: 'ada',
    is_admin: 1,
    home_user_id: ada,
    display_name: '\u202eA\0da\n',
    avatar: `/api/uploads/${ada}.png`,
  },
  { ...local, id: bob, username: 'bob', password_changed_at: changedAt, replicated_instances: '{broken' },
  { ...local, id: gone, username: 'former', is_deleted: 1, password_hash: 'f'.repeat(64), is_admin: 1 },
  {
    ...local,
    id: stub,
    username: 'sue@friends.example',
    password_hash: '!federation-replicated',
    home_instance: 'Friends.Example',
    home_user_id: '9',
  },
  {
    ...local,
    id: far,
    username: 'sue@friends.example_',
    home_instance: 'friends.example',
    home_user_id: '9',
    is_admin: 1,
  },
  { ...local, id: twin, username: ' Bob', password_hash: 'plain text' },
]
const [space, channel, message, dm, dmMessage] = [10, 11, 12, 13, 14].map(idOf) as [
  string,
  string,
  string,
  string,
  string,
]
const rows = {
  users,
  instance_settings: [
    {
      id: 1,
      instance_id: instanceId,
      worker_id: 77,
      instance_name: 'Old Place',
      registration_open: 0,
      federated_registration_open: 1,
      auto_accept_peering: 0,
    },
  ],
  invite_links: [
    {
      id: idOf(20),
      token: 'AbCdEfGhIjKlMnOpQrStUv',
      name: 'open',
      created_by: ada,
      created_at: createdAt,
      max_uses: 9_007_199_254_740_991,
      used_count: 1,
    },
    {
      id: idOf(21),
      token: 'BbCdEfGhIjKlMnOpQrStUv',
      name: 'overdrawn',
      created_by: '5',
      created_at: createdAt,
      max_uses: 2,
      used_count: 3,
    },
  ],
  invite_redemptions: [
    { id: idOf(22), invite_id: idOf(20), user_id: bob, registrant_username: 'bob', redeemed_at: createdAt + 5 },
  ],
  federation_peers: [
    {
      id: idOf(30),
      origin: 'https://friends.example',
      hmac_secret: 'a'.repeat(64),
      pending_hmac_secret: 'b'.repeat(64),
      status: 'unreachable',
      peer_instance_id: instanceId,
      created_at: createdAt,
    },
    {
      id: idOf(31),
      origin: 'https://wished.example',
      hmac_secret: 'c'.repeat(64),
      status: 'pending',
      created_at: createdAt,
    },
    {
      id: idOf(32),
      origin: 'Ended.example',
      hmac_secret: 'd'.repeat(64),
      status: 'needs_attention',
      created_at: createdAt,
    },
  ],
  peer_approval_requests: [
    {
      id: idOf(33),
      origin: 'https://asks.example',
      hmac_secret: 'e'.repeat(64),
      direction: 'inbound',
      requested_at: createdAt,
      expires_at: 4_000_000_000_000,
    },
  ],
  federation_outbox: [{ id: 1, payload: '{}' }],
  spaces: [{ id: space, name: 'Club', owner_id: gone }],
  space_members: [
    { space_id: space, user_id: bob, joined_at: createdAt + 9 },
    { space_id: space, user_id: ada, joined_at: createdAt },
  ],
  roles: [{ id: space, space_id: space, name: '@everyone', permissions: '104324673' }],
  member_roles: [{ space_id: space, user_id: ada, role_id: space }],
  channels: [{ id: channel, space_id: space, name: 'general', type: 'text' }],
  channel_overrides: [{ channel_id: channel, target_type: 'role', target_id: space, allow: '1024', deny: '0' }],
  messages: [{ id: message, channel_id: channel, user_id: gone, content: null, created_at: 1_750_000_000 }],
  attachments: [{ id: idOf(40), message_id: message, filename: 'note.txt' }],
  reactions: [
    { id: 1, message_id: message, user_id: ada, emoji: '👍' },
    { id: 2, message_id: message, user_id: ada, emoji: '👍' },
  ],
  friends: [
    { user_id: ada, friend_id: bob, created_at: createdAt },
    { user_id: bob, friend_id: ada, created_at: createdAt },
  ],
  friend_requests: [
    { id: idOf(41), from_id: ada, to_id: stub, status: 'pending', created_at: createdAt },
    { id: idOf(42), from_id: ada, to_id: bob, status: 'accepted', created_at: createdAt },
  ],
  read_states: [{ user_id: ada, channel_id: channel, last_read_message_id: message }],
  dm_channels: [
    { id: dm, owner_id: null, created_at: createdAt },
    { id: idOf(43), owner_id: ada, deleted_at: 5, created_at: createdAt },
  ],
  dm_members: [
    { dm_channel_id: dm, user_id: ada },
    { dm_channel_id: dm, user_id: gone },
  ],
  dm_messages: [{ id: dmMessage, dm_channel_id: dm, user_id: ada, type: 'user', content: 'hi', created_at: createdAt }],
  dm_reactions: [{ id: 1, dm_message_id: dmMessage, user_id: ada, emoji: '🎉' }],
}

describe('the import of an instance of the other chat server', () => {
  let folder: string
  before(async () => {
    folder = await createDataFolder()
    await mkdir(join(folder, 'uploads'))
    const picture = sharp({ create: { width: 900, height: 600, channels: 3, background: '#336699' } })
    await writeFile(join(folder, 'uploads', `${ada}.png`), await picture.png().toBuffer())
    await writeFile(join(folder, 'uploads', 'note.txt'), 'a note')
    await writeFile(join(folder, 'uploads', 'nobody.txt'), 'of nobody')
    writeOtherDatabase(join(folder, 'old.db'), rows)
  })
  after(() => removeFolder(folder))

  it('keeps accounts, hashes, tokens, invites, peers and conversations, and refuses a second run', async () => {
    const data = join(folder, 'data')
    const gatehouse = (command: string) => runCommand(command, { GATEHOUSE_DATA: data, DOMAIN: 'chat.example' })
    const names = {
      'backspace.db': join(folder, 'old.db'),
      '--uploads uploads': `--uploads ${join(folder, 'uploads')}`,
    }
    await fillDataFolder(data)

    const dry = await gatehouse(
      `${documentedCommand('npm run gatehouse -- import backspace.db --uploads uploads --dry-run', names)} --json`,
    )
    const afterDry = await readdir(join(data, 'uploads'))
    const command = documentedCommand('npm run gatehouse -- import backspace.db --uploads uploads', names)
    const real = await gatehouse(`${command} --json`)
    const again = await gatehouse(command)

    expect([dry.code, real.code, again.code], real.errors + again.errors).to.deep.equal([0, 0, 3])
    expect(afterDry).to.deep.equal([])
    const report = JSON.parse(real.output) as { tables: Record<string, unknown>; told: string[] }
    expect(JSON.parse(dry.output)).to.deep.equal(report)
    expect(report.tables['users']).to.deep.equal({ read: 6, imported: 6, skipped: 0, doubles: 0 })
    expect(report.tables['message_reactions']).to.deep.equal({ read: 2, imported: 1, skipped: 0, doubles: 1 })
    expect(real.output).to.not.include(passwordHash).and.not.include('b'.repeat(64)).and.not.include('AbCdEfGh')
    expect(again.errors).to.match(/has accounts/)

    await using instance = await startInstance(data, { DOMAIN: 'chat.example', JWT_SECRET: jwtSecret })
    const { url } = instance
    const login = async (username: string, given = password) =>
      (await postJson(`${url}/api/auth/login`, { username, password: given })).status
    const tokenOf = (userId: string, iat: number) =>
      jwt.sign({ userId, username: 'x', iat }, jwtSecret, { expiresIn: '3650d' })
    const me = async (token: string) =>
      await fetch(`${url}/api/users/@me`, { headers: { authorization: `Bearer ${token}` } })

    expect([
      await login('ada'),
      await login('bob'),
      await login('bob_1'),
      await login('bob_1', 'plain text'),
    ]).to.deep.equal([200, 200, 401, 401])
    expect((await me(tokenOf(bob, Math.floor(changedAt / 1000) - 1))).status).to.equal(401)
    expect((await me(tokenOf(bob, Math.floor(changedAt / 1000)))).status).to.equal(200)
    const self = (await (await me(tokenOf(ada, Math.floor(createdAt / 1000)))).json()) as Record<string, unknown>
    expect(self).to.include({
      id: ada,
      displayName: 'Ada',
      isAdmin: true,
      homeUserId: null,
      status: 'offline',
      createdAt,
    })
    const picture = await sharp(join(data, 'uploads', String(self['avatar']))).metadata()
    expect(picture).to.include({ format: 'webp', width: 512 })
    expect(await readFile(join(data, 'uploads', 'note.txt'), 'utf8')).to.equal('a note')
    const invite = await fetch(`${url}/api/auth/check-invite?token=AbCdEfGhIjKlMnOpQrStUv`)
    expect(await invite.json()).to.deep.equal({ valid: true, name: 'open' })
    const info = await (await fetch(`${url}/api/instance/info`)).json()
    expect(info).to.include({ name: 'Old Place', instanceId, registrationOpen: false })
    const peers = JSON.parse((await gatehouse('gatehouse peers list --json')).output) as {
      peers: object[]
      requests: object[]
    }
    expect(
      peers.peers
        .map((peer) => `${(peer as { origin: string }).origin} ${(peer as { status: string }).status}`)
        .toSorted(),
    ).to.deep.equal(['https://ended.example revoked', 'https://friends.example active'])
    expect(peers.requests).to.have.length(1)
    expect(JSON.parse((await gatehouse('gatehouse encrypt --json')).output)).to.deep.equal({
      encrypted: {
        second_factors: 0,
        federation_credentials: 0,
        peers: 0,
        approval_requests: 0,
        mails: 0,
        openid_keys: 0,
      },
    })
  })

  it('stores what the schema demands: homes folded, roles dropped, owners alive, times and secrets right', async () => {
    await using target = await prepareTarget(folder)

    await target.run(join(folder, 'old.db'))

    const one = async (sql: string) => (await target.client.query<Record<string, unknown>>(sql)).rows
    expect(
      await one(
        `select id, home_instance, home_user_id, is_admin from users where home_instance is not null order by id`,
      ),
    ).to.deep.equal([
      { id: stub, home_instance: 'friends.example', home_user_id: null, is_admin: false },
      { id: far, home_instance: 'friends.example', home_user_id: '9', is_admin: false },
    ])
    expect(
      await one(
        `select username, is_admin, password_hash like '!imported:%' as unverifiable from users where is_deleted`,
      ),
    ).to.deep.equal([{ username: `!deleted:${gone}`, is_admin: false, unverifiable: true }])
    const secrets = await one(
      `select secret from peers where status = 'active' union all select secret from approval_requests`,
    )
    expect(secrets.map(({ secret }) => openPeerSecret(encryptionKey, String(secret)))).to.deep.equal([
      'b'.repeat(64),
      'e'.repeat(64),
    ])
    expect(await one('select owner_id from spaces')).to.deep.equal([{ owner_id: ada }])
    expect(await one('select name, max_uses, used_count, created_by from invites order by id')).to.deep.equal([
      { name: 'open', max_uses: 2_147_483_647, used_count: 1, created_by: ada },
      { name: 'overdrawn', max_uses: 2, used_count: 2, created_by: null },
    ])
    expect(await one('select extract(epoch from created_at)::bigint as at from messages')).to.deep.equal([
      { at: String(Math.floor((createdAt + 12) / 1000)) },
    ])
    expect(
      await one(
        'select array[(select count(*) from friendships), (select count(*) from friend_requests), (select count(*) from dm_members)]::int[] as n',
      ),
    ).to.deep.equal([{ n: [1, 1, 2] }])
    expect(await one('select first_admin_id, worker_id from instance_settings')).to.deep.equal([
      { first_admin_id: ada, worker_id: 77 },
    ])
    expect(await one("select replicated_instances from users where replicated_instances <> '[]'")).to.deep.equal([])
    expect(await one('select actor_username, action from audit_log')).to.deep.equal([
      { actor_username: 'operator', action: 'instance.imported' },
    ])
  })

  /** deploy/importer/README.md. */
  it('carries over what the second generation has, by its shape: passwords issued for other instances, former homes, the renamed reason; and names what has no place here', async () => {
    await using target = await prepareTarget(folder)
    const file = join(folder, 'second.db')
    const [kai, lea, remote] = [50, 51, 52].map(idOf) as [string, string, string]
    const modern = passwordHash.replace('$2a$', '$2b$')
    const detached = { detached_home_instance: 'reset.example', detached_home_user_id: '77' }
    const secret = 'q'.repeat(43)
    const ofAChat = {
      instance_settings: [
        {
          id: 1,
          instance_id: instanceId,
          instance_name: 'Old Place',
          registration_open: 0,
          directory_enabled: 1,
          support_card_enabled: 1,
          ledger_started_at: createdAt,
        },
      ],
      spaces: [{ id: space, name: 'Lounge', owner_id: ada, directory_listed: 1 }],
      federation_outbox: [
        {
          id: '1',
          payload: '{}',
          reason: 'friend_add',
          target: 'https://orbit.example',
          queue_key: 'q',
          offered_at: 1,
        },
      ],
      federation_sync_cursors: [{ origin: 'https://orbit.example', context_type: 'dm', checkpoint: createdAt }],
      notification_settings: [{ user_id: ada, scope: 'dm', level: 'all' }],
    }
    const issued = { user_id: ada, secret, created_at: createdAt, provisioned_at: null }
    writeOtherDatabase(
      file,
      {
        users: [
          { ...local, id: ada, username: 'ada', is_admin: 1, password_hash: modern },
          { ...local, id: gone, username: 'former', is_deleted: 1 },
          { ...local, ...detached, id: kai, username: 'kai@reset.example', federation_home_orphaned: 1 },
          {
            ...local,
            id: lea,
            username: 'lea@reset.example',
            home_instance: 'reset.example',
            home_user_id: '78',
            federation_home_orphaned: 1,
          },
          {
            ...local,
            id: remote,
            username: 'sue~1@friends.example',
            home_instance: 'friends.example',
            home_user_id: '9',
          },
        ],
        user_federation_credentials: [
          { ...issued, origin: 'https://orbit.example', provisioned_at: createdAt + 1 },
          { ...issued, origin: 'https://nova.example:8443' },
          { ...issued, user_id: gone, origin: 'https://orbit.example' },
        ],
        federation_peers: [
          {
            id: idOf(53),
            origin: 'https://ended.example',
            hmac_secret: 'd'.repeat(64),
            created_at: createdAt,
            status: 'needs_attention',
            status_reason: 'auth_failures',
            initiated_by: 'auto',
          },
        ],
        ...ofAChat,
      },
      { isSecond: true },
    )

    const report = await target.run(file)

    const one = async (sql: string) => (await target.client.query<Record<string, unknown>>(sql)).rows
    const found = await one(
      'select user_id, origin, secret, provisioned_at is null as open from federation_credentials order by origin',
    )
    expect(found.map(({ user_id, origin, open }) => [user_id, origin, open])).to.deep.equal([
      [ada, 'https://nova.example:8443', true],
      [ada, 'https://orbit.example', false],
    ])
    for (const { origin, secret: sealed } of found)
      expect(
        decrypt(encryptionKey, String(sealed), credentialContext({ userId: ada, origin: String(origin) })),
      ).to.equal(secret)
    expect(report.tables['federation_credentials']).to.deep.equal({ read: 3, imported: 2, skipped: 1, doubles: 0 })
    expect(JSON.stringify(report)).to.include('auth_failures').and.not.include(secret)
    expect(report.leftBehind).to.deep.equal({
      federation_outbox: 1,
      federation_sync_cursors: 1,
      notification_settings: 1,
    })
    expect((await one('select name from spaces')).map(({ name }) => name)).to.deep.equal(['Lounge'])
    const former =
      'select username, home_instance, former_home_instance, former_home_user_id from users where federation_home_orphaned order by id'
    expect(await one(former)).to.deep.equal([
      {
        username: 'kai@reset.example',
        home_instance: null,
        former_home_instance: 'reset.example',
        former_home_user_id: '77',
      },
      {
        username: 'lea@reset.example',
        home_instance: null,
        former_home_instance: 'reset.example',
        former_home_user_id: '78',
      },
    ])
    expect(
      await one(`select username, password_hash from users where id in (${ada}, ${remote}) order by id`),
    ).to.deep.equal([
      { username: 'ada', password_hash: modern },
      { username: 'sue~1@friends.example', password_hash: passwordHash },
    ])
  })

  it('reads changes that are still in the write-ahead log, and a database of the first version', async () => {
    await using target = await prepareTarget(folder)
    const file = join(folder, 'wal.db')
    const without = ['invite_links', 'invite_redemptions', 'peer_approval_requests']
    const { invite_links: _, invite_redemptions: __, peer_approval_requests: ___, ...first } = rows
    writeOtherDatabase(file, { ...first, users: [] }, { version: 1_777_065_939_127, without })
    const { DatabaseSync } = await import('node:sqlite')
    const open = new DatabaseSync(file)
    open.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0')
    open
      .prepare('insert into users (id, username, password_hash, created_at) values (?, ?, ?, ?)')
      .run(ada, 'ada', passwordHash, createdAt)

    const report = await target.run(file)
    open.close()

    expect(report.tables['users']?.imported).to.equal(1)
    expect(report.told.join('\n')).to.include('write-ahead log')
  })

  it('refuses with one line and changes nothing: no database, a cut one, another one, a newer one, a used instance', async () => {
    await using target = await prepareTarget(folder)
    const file = (name: string) => join(folder, name)
    await writeFile(file('text.db'), 'no database at all, only some text')
    writeOtherDatabase(file('cut.db'), {
      ...rows,
      messages: Array.from({ length: 3_000 }, (_, n) => ({ id: idOf(n + 100), content: 'x'.repeat(50) })),
    })
    await truncate(file('cut.db'), 60_000)
    writeOtherDatabase(file('other.db'), {}, { without: ['spaces'] })
    writeOtherDatabase(file('newer.db'), rows, { version: newestVersion + 1 })
    const refusal = async (name: string) =>
      await target.run(file(name)).then(
        () => 'none',
        (error: Error) => error.message,
      )

    expect(await refusal('missing.db')).to.match(/^cannot read /)
    expect(await refusal('text.db')).to.match(/is not an SQLite database$/)
    expect(await refusal('cut.db')).to.match(/is broken: /)
    expect(await refusal('other.db')).to.match(/lacks spaces$/)
    expect(await refusal('newer.db')).to.match(/newer version .*--force/)
    const { rows: counted } = await target.client.query(
      'select (select count(*) from users) + (select count(*) from audit_log) as n',
    )
    expect(counted).to.deep.equal([{ n: '0' }])
    expect((await target.run(file('newer.db'), { isForced: true })).tables['users']?.imported).to.equal(6)
    expect(await refusal('old.db')).to.match(/has accounts/)
    expect(await readdir(target.uploadDir)).to.deep.equal([])
  })
})

/** A migrated database to import into, without files. */
async function prepareTarget(folder: string) {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await migratedDatabase())
  const client = opening.adopt(new pg.Client(url), (open) => open.end())
  await client.connect()
  const uploadDir = await mkdtemp(join(folder, 'target-'))
  const images = {
    convert: () => Promise.reject(new Error('no pictures here')),
    [Symbol.asyncDispose]: async () => undefined,
  }
  const base = {
    uploads: null,
    isDryRun: false,
    isForced: false,
    databaseUrl: url,
    ...uploadsIn(uploadDir),
    domain: 'chat.example',
  }
  const open = opening.move()
  return {
    client,
    uploadDir,
    run: (file: string, options: { isForced?: boolean } = {}) =>
      importDatabase({
        ...base,
        ...options,
        file,
        images,
        encryptionKey,
        now: Date.now(),
        random: systemRandom,
        progress: () => undefined,
      }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
