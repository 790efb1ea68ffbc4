import { createWriteStream, existsSync, writeFileSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { createDataFolder, documentedCommand, growDatabase, migratedDatabase, removeFolder } from '@gatehouse/test-kit'
import { createEncryptionKey, openPeerSecret } from '@gatehouse/auth'
import { prepareDatabase } from '@gatehouse/database'
import { startPersistentPostgres } from '@gatehouse/local-servers'
import { expect } from 'chai'
import pg from 'pg'
import sharp from 'sharp'
import { pack } from 'tar-stream'
import { volatileTables } from '../cli/archive/format.ts'
import { restoreArchive } from '../cli/archive/restore-archive.ts'
import { writeArchive } from '../cli/archive/write-archive.ts'
import { loadOrCreateSecrets } from '../embedded/data-folder.ts'
import { fillDataFolder, postJson, startInstance, uploadsIn } from './program.ts'
import { query } from './query.ts'
import { runArguments, runCommand } from './run-arguments.ts'

const account = { username: 'ada', password: 'a long enough password' }
const peerSecret = 'p'.repeat(64)
const elsewhere = { origin: 'https://peer.example', username: 'ada@localhost' }

describe('backup and restore', function () {
  this.timeout(400_000)
  let folder: string
  before(async () => void (folder = await createDataFolder()))
  after(() => removeFolder(folder))
  const at = (name: string) => join(folder, name)

  it('carry a running embedded instance into another one, and into a distributed one: tokens, invites, peers, uploads', async () => {
    const first = await fillInstance(at('first'))
    const passphrase = at('passphrase')
    await writeFile(passphrase, 'a passphrase of the operator\n')
    const secrets = ['--secrets', at('secrets'), '--passphrase-file', passphrase]

    const backup = await gatehouse(at('first'), 'backup', at('archive'), ...secrets)
    await first.instance[Symbol.asyncDispose]()
    const restored = await gatehouse(at('second'), 'restore', at('archive'), ...secrets)
    const again = await gatehouse(at('second'), 'restore', at('archive'))

    expect([backup.code, restored.code, again.code], backup.errors + restored.errors).to.deep.equal([0, 0, 3])
    expect((await stat(at('archive'))).mode & 0o777).to.equal(0o600)
    expect(await readFile(at('secrets'), 'utf8'))
      .to.include('sealed')
      .and.not.include('jwtSecret')
    const second = await startInstance(at('second'))
    try {
      await expectSame(second.url, first)
    } finally {
      await second[Symbol.asyncDispose]()
    }

    await using database = await migratedDatabase()
    const kept = await readJson(join(at('second'), 'secrets.json'))
    expect(kept).to.deep.include(
      await readJson(join(at('first'), 'secrets.json'), 'databasePassword', 'operatorSecret'),
    )
    const distributed = {
      DATABASE_URL: database.url,
      UPLOAD_DIR: at('shared'),
      JWT_SECRET: kept['jwtSecret']!,
      INTERNAL_SECRET: 'i'.repeat(40),
      ENCRYPTION_SECRET: kept['encryptionSecret']!,
    }
    const unreadable = { ...distributed, ENCRYPTION_SECRET: 'x'.repeat(40) }
    const migrated = () => query(database.url, 'select name from mikro_orm_migrations order by 1')
    await query(database.url, `delete from mikro_orm_migrations where name = 'Migration20261123UserSearch'`)
    const schema = await migrated()
    const lost = await runArguments(['move-up', at('second')], unreadable)
    const other = await runArguments(['move-up', at('second')], { ...distributed, JWT_SECRET: 'x'.repeat(40) })
    expect(await migrated(), 'a refusal leaves the schema').to.deep.equal(schema)
    await query(database.url, `insert into mikro_orm_migrations (name) values ('Migration20261123UserSearch')`)
    const moved = await runCommand(await moveUp(distributed))
    const back = await runArguments(['backup', at('back')], distributed)
    await fillDataFolder(at('third'))
    const home = await runCommand(
      documentedCommand(
        'GATEHOUSE_DATA=.gatehouse/cluster npm run gatehouse -- restore monday.tar.gz --secrets monday.secrets --passphrase-file passphrase',
        {
          '.gatehouse/cluster': at('third'),
          'monday.tar.gz': at('back'),
          'monday.secrets': at('secrets'),
          '-file passphrase': `-file ${passphrase}`,
        },
      ),
    )

    expect(lost.errors).to.match(/ENCRYPTION_SECRET/)
    expect(
      [other.code, lost.code, moved.code, back.code, home.code],
      moved.errors + back.errors + home.errors,
    ).to.deep.equal([2, 2, 0, 0, 0])
    expect(other.errors).to.match(/^JWT_SECRET must be /m)
    await using third = await startInstance(at('third'))
    await expectSame(third.url, first)
    const { encryptionSecret } = await readJson(join(at('second'), 'secrets.json'))
    const [peer] = (await query(database.url, 'select secret from peers')) as { secret: string }[]
    expect(peer?.secret).to.match(/^enc1\./)
    expect(openPeerSecret(createEncryptionKey(String(encryptionSecret)), peer!.secret)).to.equal(peerSecret)
  })

  /** From the instance of `second`, with each secret in a file. */
  async function moveUp(environment: Record<string, string>): Promise<string> {
    const fileOf = async (name: string) => {
      await writeFile(at(name), environment[name]!)
      return `${name}_FILE=${at(name)}`
    }
    return documentedCommand(
      'DATABASE_URL=… UPLOAD_DIR=… JWT_SECRET_FILE=… INTERNAL_SECRET_FILE=… ENCRYPTION_SECRET_FILE=… PUBLIC_ORIGIN=… npm run gatehouse -- move-up .gatehouse',
      {
        'DATABASE_URL=…': `DATABASE_URL=${environment['DATABASE_URL']}`,
        'UPLOAD_DIR=…': `UPLOAD_DIR=${environment['UPLOAD_DIR']}`,
        'JWT_SECRET_FILE=…': await fileOf('JWT_SECRET'),
        'INTERNAL_SECRET_FILE=…': await fileOf('INTERNAL_SECRET'),
        'ENCRYPTION_SECRET_FILE=…': await fileOf('ENCRYPTION_SECRET'),
        'PUBLIC_ORIGIN=…': 'PUBLIC_ORIGIN=https://chat.example',
        '.gatehouse': at('second'),
      },
    )
  }

  it('refuse with one line, and change nothing: a cut archive, a changed one, another file, the wrong passphrase', async () => {
    await using source = await filledDatabase(300)
    await using target = await migratedDatabase()
    const uploads = await mkdtemp(at('uploads-'))
    await writeFile(join(uploads, 'a.txt'), 'file a')
    await writeArchive({
      databaseUrl: source.url,
      ...uploadsIn(uploads),
      file: at('whole'),
      now: Date.now(),
      progress: () => undefined,
    })
    const { size } = await stat(at('whole'))
    const uploadDir = await mkdtemp(at('target-'))
    const refusal = async (file: string) =>
      await restoreArchive({ file, databaseUrl: target.url, ...uploadsIn(uploadDir), progress: () => undefined }).then(
        () => 'none',
        (error: Error) => error.message,
      )

    for (const kept of [10, 400, Math.floor(size / 2), size - 1]) {
      await copyFile(at('whole'), at('cut'))
      await truncate(at('cut'), kept)
      expect(await refusal(at('cut')), `${kept} of ${size} bytes`).to.match(
        /^\S+ is (damaged|not a Gatehouse backup)[^\n]*$/,
      )
    }
    await writeFile(at('text'), 'some text')
    expect(await refusal(at('text'))).to.match(/damaged: it is not a Gatehouse backup$/)
    expect(await refusal(at('missing'))).to.match(/^cannot read /)
    const nobody = await gatehouse(at('nobody'), 'backup', at('empty'))
    expect([nobody.code, existsSync(at('nobody')), existsSync(at('empty'))]).to.deep.equal([4, false, false])
    const header = (archive: Record<string, unknown>) => JSON.stringify({ format: 'gatehouse-backup', ...archive })
    await writeTar(at('later'), { 'header.json': header({ formatVersion: 2, version: '99.1.0' }) })
    expect(await refusal(at('later'))).to.match(
      /was made by version 99\.1\.0 \(format 2\), this is .* \(format 1\): restore it there$/,
    )
    expect(await query(target.url, 'select count(*)::int as n from users')).to.deep.equal([{ n: 0 }])
    expect(await readdir(uploadDir)).to.deep.equal([])
    expect(await refusal(at('whole'))).to.equal('none')
    expect(await query(target.url, 'select count(*)::int as n from users')).to.deep.equal([{ n: 300 }])
    expect(await refusal(at('whole'))).to.match(/^this instance already has accounts/)

    await writeFile(at('wrong'), 'another passphrase')
    const shown = await gatehouse(folder, 'secrets', 'show', at('secrets'), '--passphrase-file', at('wrong'))
    expect([shown.code, shown.output]).to.deep.equal([3, ''])
  })

  it('fail without the folder of the uploads, replace no file, and leave nothing behind', async () => {
    await using source = await filledDatabase(3)
    await query(source.url, `update users set avatar = 'a.webp' where id = 1`)
    const uploads = await mkdtemp(at('present-'))
    await writeFile(join(uploads, 'a.webp'), 'a picture')
    const keys = { JWT_SECRET: 'j'.repeat(40), INTERNAL_SECRET: 'i'.repeat(40), ENCRYPTION_SECRET: 'e'.repeat(40) }
    const backUp = (environment: Record<string, string>, archive = at('kept'), secrets = at('kept.secrets')) =>
      runArguments(['backup', archive, '--secrets', secrets], { DATABASE_URL: source.url, ...keys, ...environment })

    const unnamed = await backUp({})
    const absent = await backUp({ UPLOAD_DIR: at('no-such-folder') })
    const left = [existsSync(at('kept')), existsSync(at('kept.secrets'))]
    const whole = await backUp({ UPLOAD_DIR: uploads })
    const before = await readFile(at('kept'))
    const again = await backUp({ UPLOAD_DIR: uploads })
    const oneName = await backUp({ UPLOAD_DIR: uploads }, at('one'), at('one'))

    expect([unnamed.code, absent.code, whole.code, again.code], whole.errors).to.deep.equal([2, 2, 0, 2])
    expect([oneName.code, existsSync(at('one'))], 'no archive without its secrets').to.deep.equal([2, false])
    expect(left).to.deep.equal([false, false])
    expect(`${unnamed.errors}${absent.errors}`.match(/^UPLOAD_DIR: /gm)).to.have.length(2)
    expect(again.errors).to.match(/already exists: choose another file name/)
    expect(await readFile(at('kept'))).to.deep.equal(before)
    expect(existsSync(at('kept.secrets'))).to.equal(true)
  })

  it('of two to one name one wins, and the other is refused: at once where it can be seen, else at the end', async () => {
    await using source = await filledDatabase(3)
    const file = at('twice')
    const place = { databaseUrl: source.url, ...uploadsIn(await mkdtemp(at('twice-'))), file, now: Date.now() }
    const refusal = async (progress: () => void) =>
      await writeArchive({ ...place, progress }).then(
        () => 'none',
        ({ message }: Error) => message,
      )
    const elsewhere = `${file}.${hostname()}-${process.ppid}.partial`
    const litter = async () => (await readdir(folder)).filter((name) => name.endsWith('.partial'))

    expect(await refusal(() => writeFileSync(file, 'of another machine'))).to.equal(
      `${file} already exists: choose another file name`,
    )
    expect([await readFile(file, 'utf8'), await litter()]).to.deep.equal(['of another machine', []])
    await rm(file)
    await writeFile(elsewhere, '')
    expect(await refusal(() => undefined)).to.equal(
      `${file} is being written by another process: choose another file name`,
    )
    expect([existsSync(file), await litter()]).to.deep.equal([false, [basename(elsewhere)]])
    await rm(elsewhere)
    expect([await refusal(() => undefined), existsSync(file)]).to.deep.equal(['none', true])
  })

  it('of a schema that the program has not migrated yet is refused, and migrates nothing', async () => {
    const applied = async (url: string) =>
      (await query(url, 'select name from mikro_orm_migrations order by id')) as { name: string }[]
    await using database = await migratedDatabase()
    const { name: last } = (await applied(database.url)).at(-1)!
    const forget = `delete from mikro_orm_migrations where name = '${last}'`
    await query(database.url, forget)
    const distributed = { DATABASE_URL: database.url, UPLOAD_DIR: await mkdtemp(at('early-')) }
    const ofServices = await runArguments(['backup', at('early')], distributed)

    await fillDataFolder(at('unmigrated'))
    const open = async () => {
      const { databasePassword: password } = loadOrCreateSecrets(at('unmigrated'))
      return await startPersistentPostgres({ folder: join(at('unmigrated'), 'database'), password })
    }
    const first = await open()
    await prepareDatabase(first.url)
    await query(first.url, forget)
    const before = await applied(first.url)
    await first[Symbol.asyncDispose]()
    const ofStopped = await gatehouse(at('unmigrated'), 'backup', at('early'))

    const fault = /^the database has the schema of an earlier release: back up with that release/m
    for (const { code, errors } of [ofServices, ofStopped]) {
      expect(code, errors).to.equal(3)
      expect(errors).to.match(fault)
    }
    expect(existsSync(at('early'))).to.equal(false)
    const again = await open()
    expect(await applied(again.url)).to.deep.equal(before)
    await query(again.url, `insert into mikro_orm_migrations (name) values ('${last}')`)
    await again[Symbol.asyncDispose]()
    expect((await gatehouse(at('unmigrated'), 'backup', at('early'))).code).to.equal(0)
  })

  it('carry the rows of every table but those that mean nothing elsewhere, and hosts that are made again', async () => {
    await using source = await migratedDatabase()
    await using target = await migratedDatabase()
    const client = new pg.Client(source.url)
    await client.connect()
    await growDatabase(client, () => 20)
    await client.end()
    await query(source.url, `update users set replicated_instances = '${JSON.stringify([elsewhere])}' where id = 1`)
    const uploadDir = await mkdtemp(at('every-'))
    const progress = () => undefined

    await writeArchive({
      databaseUrl: source.url,
      ...uploadsIn(uploadDir),
      file: at('every'),
      now: Date.now(),
      progress,
    })
    await restoreArchive({ file: at('every'), databaseUrl: target.url, ...uploadsIn(uploadDir), progress })

    expect(await readSchema(target.url)).to.deep.equal(await readSchema(source.url))
    const [before, after] = [await countRows(source.url), await countRows(target.url)]
    const differing = Object.keys(before).filter((table) => before[table] !== after[table])
    expect(new Set(Object.values(before))).to.include(20)
    expect([before['linked_identities'], after['linked_identities']]).to.deep.equal([20, 20])
    const left = [...volatileTables].filter((table) => before[table] !== 0 && table !== 'account_versions')
    expect(differing).to.have.members(left)
    expect(await query(target.url, 'select host from replica_hosts')).to.deep.equal([{ host: 'peer.example' }])
    const untold = 'select count(*)::int from account_versions where version is null'
    expect(await query(target.url, untold), 'upstreams are told every account').to.deep.equal([{ count: 20 }])
  })

  it('take one moment: rows that change while the archive is written are in it as they were', async () => {
    await using source = await filledDatabase(200)
    await using target = await migratedDatabase()
    const client = new pg.Client(source.url)
    await client.connect()
    let wrote = false
    const uploadDir = await mkdtemp(at('moment-'))
    const change = () => {
      if (wrote) return
      wrote = true
      // Between two tables: without one snapshot the later ones would have the change.
      void client.query(
        `update users set bio = 'later'; insert into audit_log (action, target_type) values ('later', 'user')`,
      )
    }
    const pauseAt = { progress: change }

    await writeArchive({
      databaseUrl: source.url,
      ...uploadsIn(uploadDir),
      file: at('moment'),
      now: Date.now(),
      ...pauseAt,
    })
    await client.query('select 1')
    await client.end()
    await restoreArchive({
      file: at('moment'),
      databaseUrl: target.url,
      ...uploadsIn(uploadDir),
      progress: () => undefined,
    })

    expect(wrote).to.equal(true)
    expect(await query(source.url, `select count(*)::int as n from users where bio = 'later'`)).to.deep.equal([
      { n: 200 },
    ])
    const sql = `select (select count(*) from users where bio = 'later') + (select count(*) from audit_log where action = 'later') as n`
    expect(await query(target.url, sql)).to.deep.equal([{ n: '0' }])
  })
})

async function countRows(url: string): Promise<Record<string, number>> {
  const tables = await query(url, `select tablename as name from pg_tables where schemaname = 'public'`)
  const counted = (tables as { name: string }[]).map(async ({ name }): Promise<[string, number]> => {
    const [row] = (await query(url, `select count(*)::int as n from ${name}`)) as { n: number }[]
    return [name, row!.n]
  })
  return Object.fromEntries(await Promise.all(counted))
}

/** Every index, key and reference. */
const readSchema = (url: string) =>
  query(
    url,
    `select indexdef as definition from pg_indexes where schemaname = 'public'
     union all
     select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
     where connamespace = 'public'::regnamespace order by 1`,
  )

const gatehouse = (dataFolder: string, ...args: string[]) => runArguments(args, { GATEHOUSE_DATA: dataFolder })

/** An instance with an account that has a picture, an invite and a peer. */
async function fillInstance(dataFolder: string) {
  const instance = await startInstance(dataFolder)
  const registered = await postJson(`${instance.url}/api/auth/register`, account)
  const headers = { authorization: `Bearer ${String(registered.body['token'])}` }
  const invite = await postJson(`${instance.url}/api/admin/invites`, { name: 'for a friend' }, headers)
  const form = new FormData()
  const picture = await sharp({ create: { width: 20, height: 20, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  form.set('file', new File([new Uint8Array(picture)], 'red.png'))
  const uploaded = (await (
    await fetch(`${instance.url}/api/uploads`, { method: 'POST', headers, body: form })
  ).json()) as { filename: string }
  await fetch(`${instance.url}/api/users/@me`, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ avatar: uploaded.filename, replicatedInstances: [elsewhere] }),
  })
  const { findRunningInstance } = await import('../calls/operator-calls.ts')
  const { databaseUrl } = (await findRunningInstance(dataFolder))!
  await query(
    databaseUrl,
    `insert into peers (id, origin, host, secret, status) values (1, 'https://peer.example', 'peer.example', '${peerSecret}', 'active')`,
  )
  return { instance, headers, inviteToken: String(invite.body['token']), avatar: uploaded.filename }
}

async function expectSame(
  url: string,
  { headers, inviteToken, avatar }: Awaited<ReturnType<typeof fillInstance>>,
): Promise<void> {
  const me = await fetch(`${url}/api/users/@me`, { headers })
  expect(me.status, 'the old token').to.equal(200)
  expect(await me.json()).to.deep.include({
    username: 'ada',
    isAdmin: true,
    avatar,
    replicatedInstances: [elsewhere],
  })
  expect((await postJson(`${url}/api/auth/login`, account)).status).to.equal(200)
  expect(await (await fetch(`${url}/api/auth/check-invite?token=${inviteToken}`)).json()).to.include({ valid: true })
  expect((await fetch(`${url}/api/uploads/${avatar}`)).headers.get('content-type')).to.equal('image/webp')
  const { peers } = (await (await fetch(`${url}/api/federation/peers`, { headers })).json()) as { peers: object[] }
  expect(peers[0]).to.include({ origin: 'https://peer.example', status: 'active' })
  expect(
    (await postJson(`${url}/api/auth/register`, { username: `bob_${new URL(url).port}`, password: account.password }))
      .body['user'],
  ).to.include({ isAdmin: false })
}

async function writeTar(file: string, members: Record<string, string>): Promise<void> {
  const tar = pack()
  for (const [name, content] of Object.entries(members)) tar.entry({ name }, content)
  tar.finalize()
  await pipeline(tar, createGzip(), createWriteStream(file))
}

async function filledDatabase(accounts: number) {
  const database = await migratedDatabase()
  await query(
    database.url,
    `insert into users (id, username, password_hash, bio)
     select n, 'user_' || n, '!unverifiable', repeat('profile ', 20) || E'\\\\.\\n\\t' from generate_series(1, ${accounts}) n`,
  )
  return database
}

async function readJson(file: string, ...without: string[]): Promise<Record<string, string>> {
  const content = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>
  return Object.fromEntries(Object.entries(content).filter(([name]) => !without.includes(name)))
}
