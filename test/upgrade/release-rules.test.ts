import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectDatabase, databaseOptions, previousRelease } from '@gatehouse/database'
import { testDatabase } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { listIncompatibilities, listSubjects, type Schema, type Subjects } from './compatibility.ts'
import { openReleaseTree, readReleases, withRelease } from './releases.ts'

type Released = { version: string; migrations: string[]; subjects: Subjects }
type Column = { name: string; type: string; nullable: boolean; hasDefault: boolean }

const projectRoot = join(import.meta.dirname, '../..')
const released = JSON.parse(readFileSync(join(import.meta.dirname, 'released.json'), 'utf8')) as Released

const columnsSql = `select table_name || '.' || column_name as name, data_type as type, is_nullable = 'YES' as nullable,
  column_default is not null or is_identity = 'YES' or is_generated = 'ALWAYS' as "hasDefault"
  from information_schema.columns where table_schema = 'public' order by 1`

/** The columns of the released schema, and those after the migrations of this release. */
async function readBothSchemas(): Promise<{ before: Column[]; after: Column[] }> {
  await using database = await testDatabase()
  const orm = await connectDatabase({ url: database.url })
  try {
    const list = databaseOptions({ url: database.url }).migrations!.migrationsList!.map(({ name }) => name)
    expect(list.slice(0, released.migrations.length)).to.deep.equal(released.migrations)
    await orm.migrator.up({ migrations: released.migrations })
    const before = await orm.em.fork().execute<Column[]>(columnsSql)
    await orm.migrator.up()
    return { before, after: await orm.em.fork().execute<Column[]>(columnsSql) }
  } finally {
    await orm.close(true)
  }
}

/** Old forms that the released processes do not need: they were sent beside the new ones, for the release before them. */
const outlived = new Set([
  'event.user.presence-changed.v1',
  'call.identity.forget-replicated-instances.v1 request',
  'call.identity.forget-replicated-instances.v1 reply',
])

describe(`the rules of a release, held against ${released.version}`, () => {
  it('runs the released processes on the new schema: migrations drop, rename and retype no column and require no new one', async () => {
    const { before, after } = await readBothSchemas()
    const now = new Map(after.map((column) => [column.name, column]))
    const tables = new Set(before.map(({ name }) => name.split('.')[0]))
    const known = new Set(before.map(({ name }) => name))

    for (const { name, type, nullable, hasDefault } of before) {
      expect(now.get(name)?.type, name).to.equal(type)
      if (nullable || hasDefault) {
        expect(now.get(name)!.nullable || now.get(name)!.hasDefault, `${name} must be given now`).to.equal(true)
      }
      if (nullable) expect(now.get(name)!.nullable, `${name} refuses null now`).to.equal(true)
    }
    const added = after.filter(({ name }) => tables.has(name.split('.')[0]) && !known.has(name))
    for (const { name, nullable, hasDefault } of added) expect(nullable || hasDefault, name).to.equal(true)
  })

  it('is the release that the guard of the schema takes for the one before', () => {
    const { version, migrations } = released
    expect(previousRelease).to.deep.equal({ version, lastMigration: migrations.at(-1) })
    expect(readReleases().upgradable.map((release) => release.version)).to.deep.equal([version])
  })

  it('keeps every released subject, with a schema that only gained optional fields', () => {
    const current = listSubjects()
    for (const [subject, schema] of Object.entries(released.subjects)) {
      if (outlived.has(subject)) continue
      expect(Object.keys(current), 'a subject that changes lives beside its old form for one release').to.include(
        subject,
      )
      expect(listIncompatibilities(schema, current[subject]!), subject).to.deep.equal([])
    }
  })

  it('drops a released subject only where it is named here, and once', () => {
    const gone = Object.keys(released.subjects).filter((subject) => !(subject in listSubjects()))
    expect(gone).to.have.members([...outlived])
  })

  it('names every event in docs/reference/events.md', () => {
    const text = readFileSync(join(projectRoot, 'docs/reference/events.md'), 'utf8')
    const events = Object.keys(listSubjects()).filter((subject) => subject.startsWith('event.'))
    for (const event of events) expect(text).to.include(`\`${event}\``)
  })

  it('names the releases from which a rolling upgrade is possible, none of which needs a stop', () => {
    const { upgradable, stopAndStart } = readReleases()
    const stopped = new Set(stopAndStart.map(({ version }) => version))
    expect(upgradable.filter(({ version }) => stopped.has(version))).to.deep.equal([])
  })
})

describe('the list of releases', () => {
  const stopAndStart = [{ version: '0.1.0', commit: 'f21215f', because: 'its events have other subjects' }]

  it('gets a new release, from which alone a rolling upgrade is possible then', () => {
    const before = { upgradable: [{ version: '0.8.0', commit: 'a'.repeat(40) }], stopAndStart }
    const added = { version: '0.9.0', commit: 'b'.repeat(40) }
    expect(withRelease(before, added)).to.deep.equal({ upgradable: [added], stopAndStart })
  })

  it('says so when the clone lacks the commit of a release', async () => {
    const opened = await openReleaseTree('0'.repeat(40), () => undefined).catch((err: unknown) => err)
    expect(opened).to.be.an('error').with.property('message').that.includes('is not in this clone')
  })
})

describe('the comparison of two schemas', () => {
  const object = (properties: Record<string, Schema>, required: string[]): Schema => ({
    type: 'object',
    properties,
    required,
  })
  const released = object({ id: { type: 'string' }, at: object({ ms: { type: 'integer' } }, ['ms']) }, ['id', 'at'])

  it('lets a message gain an optional field, at any depth', () => {
    const at = object({ ms: { type: 'integer' }, zone: { type: 'string' } }, ['ms'])
    const current = object({ id: { type: 'string' }, at, note: { type: 'string' } }, ['id', 'at'])
    expect(listIncompatibilities(released, current)).to.deep.equal([])
  })

  it('refuses a field that went, changed its type, or became required', () => {
    const at = object({ ms: { type: 'string' }, zone: { type: 'string' } }, ['ms', 'zone'])
    const faults = listIncompatibilities(released, object({ at }, ['at']))
    expect(faults).to.have.members([
      '.id is gone',
      '.id became optional',
      '.at.ms has another schema',
      '.at.zone became required',
    ])
  })
})
