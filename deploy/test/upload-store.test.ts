import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { documentedCommand, migratedDatabase, startS3, type MigratedDatabase, type TestS3 } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startDocumented } from './program.ts'
import { query } from './query.ts'
import { runArguments, runCommand, useTemporary } from './run-arguments.ts'

const names = Array.from({ length: 24 }, (_, index) => `picture-${String(index).padStart(2, '0')}.webp`)
const prefix = 'some/where/'

/** Contract: 8, UPLOAD_STORE. */
describe('the command line with uploads in S3', function () {
  this.timeout(400_000)
  let folder: string
  let database: MigratedDatabase
  let s3: TestS3
  const at = (name: string) => join(folder, name)
  const run = (environment: Record<string, string>, ...args: string[]) => {
    return runArguments(args, { DATABASE_URL: database.url, ...environment })
  }
  const onDatabase = (environment: Record<string, string>) => ({ DATABASE_URL: database.url, ...environment })
  const inFolder = (name = 'old') => ({ UPLOAD_DIR: at(name) })
  const inS3 = (given: TestS3 = s3) => ({ ...given.environment, UPLOAD_DIR: at('work') })
  const beforeMove = () => ({ ...s3.environment, ...inFolder(), UPLOAD_STORE: '' })
  const keys = () => [...s3.objects.keys()].toSorted()
  const objects = () => keys().filter((key) => key !== `${prefix}gatehouse-uploads.txt`)
  const contentOf = (name: string) => `the content of ${name}`

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-store-'))
    for (const name of ['temporary', 'old', 'new']) await mkdir(at(name))
    useTemporary(at('temporary'))
    database = await migratedDatabase()
    s3 = await startS3()
    await query(database.url, `insert into users (id, username, password_hash) values (1, 'ada', '!unverifiable')`)
    await addUploads(names)
  })
  afterEach(async () => {
    useTemporary(undefined)
    await s3[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  async function addUploads(added: readonly string[]): Promise<void> {
    for (const name of added) await writeFile(at(`old/${name}`), contentOf(name))
    const rows = added.map((name) => `('${name}', 1, ${contentOf(name).length}, 'image/webp', now())`)
    await query(
      database.url,
      `insert into uploads (filename, user_id, size, mimetype, claimed_at) values ${rows.join()}`,
    )
  }

  it('moves them, goes on after kill -9, catches what changed meanwhile, and removes nothing unasked', async () => {
    const places = { 's3://bucket/prefix': s3.environment.UPLOAD_STORE }
    const move = documentedCommand('npm run gatehouse -- uploads move --to s3://bucket/prefix', places)
    const moveFrom = documentedCommand(
      'npm run gatehouse -- uploads move --to s3://bucket/prefix --from file:/data/uploads',
      {
        ...places,
        '/data/uploads': at('old'),
      },
    )
    const moveAndRemove = documentedCommand(
      'npm run gatehouse -- uploads move --to s3://bucket/prefix --from file:/data/uploads --remove',
      { ...places, '/data/uploads': at('old') },
    )
    const puts: string[] = []
    const killed = startDocumented(move, { ...onDatabase(beforeMove()), TMPDIR: at('temporary') })
    s3.faults.next = (method, key) => {
      if (method === 'PUT') puts.push(key)
      if (puts.length === 20) killed.signal('SIGKILL')
      return puts.length >= 20 ? 503 : undefined
    }
    expect((await killed.exited).code).to.equal(null)
    s3.faults.next = undefined
    const first = objects()
    expect(first.length).to.be.greaterThan(0).and.lessThan(names.length)

    const again = await runCommand(`${move} --json`, onDatabase(beforeMove()))
    expect(again.code, again.errors).to.equal(0)
    expect(JSON.parse(again.output)).to.include({
      copied: names.length - first.length,
      present: first.length,
      missing: 0,
    })
    expect(objects()).to.deep.equal(names.map((name) => `${prefix}${name}`))
    for (const name of names) expect(String(s3.objects.get(`${prefix}${name}`))).to.equal(contentOf(name))

    await addUploads(['late.webp'])
    await query(database.url, `delete from uploads where filename = '${names[0]}'`)
    const early = await runCommand(`${move} --yes --remove`, onDatabase(beforeMove()))
    const caught = await runCommand(`${moveFrom} --json`, onDatabase(inS3()))
    expect([early.code, caught.code], caught.errors).to.deep.equal([3, 0])
    const last = await runCommand(`${moveAndRemove} --json --yes`, onDatabase(inS3()))
    expect(last.code, last.errors).to.equal(0)
    expect(early.errors).to.match(/^file:.* may be in use: set UPLOAD_STORE/)
    const kept = [...names.slice(1), 'late.webp']
    expect(JSON.parse(caught.output)).to.include({ copied: 1, present: 23, withdrawn: 1, removed: 0 })
    expect(JSON.parse(last.output)).to.include({ copied: 0, present: 24, withdrawn: 0, removed: kept.length })
    expect(objects()).to.have.members(kept.map((name) => `${prefix}${name}`))
    expect(await readdir(at('old'))).to.deep.equal([names[0]])
    expect(await readdir(at('temporary'))).to.deep.equal([])
  })

  it('moves them back into a folder, and refuses a store with other files, a store that alters them, and the one in use', async () => {
    for (const name of names) s3.objects.set(`${prefix}${name}`, Buffer.from(contentOf(name)))
    await writeFile(at('new/someone-elses.txt'), 'x')
    const move = (to: string) => run(inS3(), 'uploads', 'move', '--to', to)
    const impossible = await move('file:/proc/x')
    expect(impossible.code).to.equal(2)
    expect(impossible.errors).to.match(/^[^\n]*\/proc\/x[^\n]*\n$/)

    const refused = await move(`file:${at('new')}`)
    const same = await move(s3.environment.UPLOAD_STORE)
    const bad = await run(
      { ...inS3(), AWS_REGION: 'Nowhere!', AWS_SECRET_ACCESS_KEY: '' },
      'uploads',
      'move',
      '--to',
      's3://b2b',
    )
    expect([refused.code, same.code, bad.code]).to.deep.equal([3, 2, 2])
    expect(await readdir(at('new'))).to.have.members(['.incoming', 'someone-elses.txt'])
    expect(bad.errors)
      .to.match(/^AWS_SECRET_ACCESS_KEY: /m)
      .and.match(/^AWS_REGION: /m)

    const back = await move(`file:${at('back')}`)
    expect(back.code, back.errors).to.equal(0)
    expect(await readdir(at('back'))).to.have.members([...names, '.incoming', 'gatehouse-uploads.txt'])
    expect(keys()).to.have.length(names.length)

    s3.objects.clear()
    s3.faults.next = (method, key) => {
      if (method === 'GET' && s3.objects.has(key) && key.endsWith('.webp')) s3.objects.set(key, Buffer.from('altered'))
      return undefined
    }
    const altered = await run(beforeMove(), 'uploads', 'move', '--to', s3.environment.UPLOAD_STORE)
    expect([altered.code, altered.errors]).to.deep.include(1)
    expect(altered.errors).to.match(/gives back something else/)
  })

  it('backs them up and restores them, and leaves neither archive nor object where a store is away or refuses', async () => {
    for (const name of names.slice(1)) s3.objects.set(`${prefix}${name}`, Buffer.from(contentOf(name)))
    const look = async (environment: Record<string, string>) => {
      const { output } = await run({ PUBLIC_ORIGIN: 'http://127.0.0.1:1', ...environment }, 'check')
      return /^.*(?= +uploads) +uploads.*$/m.exec(output)?.[0].trim().replaceAll(/ +/g, ' ')
    }
    expect(await look(inS3())).to.equal(`ok uploads s3://test-bucket/${prefix} answers, with these keys`)
    expect(await look({ ...inS3(), AWS_SECRET_ACCESS_KEY: 'another' })).to.match(/^FAIL uploads .* answered 403/)
    expect(await look(inFolder())).to.equal(`ok uploads file:${at('old')} is there and writable`)
    expect(await look(inFolder('absent'))).to.match(/^FAIL uploads .*ENOENT/)
    expect(await look({})).to.equal('skipped uploads neither UPLOAD_STORE nor UPLOAD_DIR is in this environment')
    const backup = await run(inS3(), 'backup', at('archive'))
    const wrong = await run({ ...inS3(), AWS_SECRET_ACCESS_KEY: 'another' }, 'backup', at('wrong'))
    expect(backup.output, backup.errors).to.match(/23 files, 1 files that rows name are missing/)
    expect([wrong.code, wrong.errors]).to.deep.equal([
      2,
      `UPLOAD_STORE: s3://test-bucket/some/where/ at ${s3.config.endpoint} answered 403; there is no archive\n`,
    ])

    await using target = await migratedDatabase()
    await using other = await startS3()
    let puts = 0
    other.faults.next = (method) => (method === 'PUT' && (puts += 1) > 10 ? 403 : undefined)
    const restore = () => run({ ...inS3(other), DATABASE_URL: target.url }, 'restore', at('archive'))
    const failed = await restore()
    expect(
      [failed.code, other.objects.size, await query(target.url, 'select id from users')],
      failed.errors,
    ).to.deep.equal([2, 0, []])
    other.faults.next = undefined
    const restored = await restore()
    expect([restored.code, other.objects.size], restored.errors).to.deep.equal([0, 23])
    expect(String(other.objects.get(`${prefix}${names[3]}`))).to.equal(contentOf(names[3]!))

    await s3[Symbol.asyncDispose]()
    const away = await run(inS3(), 'backup', at('away'))
    expect(away.code).to.equal(5)
    expect(away.errors).to.match(/^UPLOAD_STORE: .* does not answer; there is no archive\n$/)
    expect([existsSync(at('away')), existsSync(at('wrong'))]).to.deep.equal([false, false])
    expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).to.deep.equal([])
  })
})
