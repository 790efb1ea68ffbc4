import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createEncryptionKey } from '@gatehouse/auth'
import type { ImportReport } from '@gatehouse/importer'
import { systemRandom } from '@gatehouse/runtime'
import { migratedDatabase } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { CommandFailure } from '../cli/failure.ts'
import { importDatabase } from '../cli/commands/import.ts'
import { onDatabase } from './container-form.ts'
import { uploadsIn } from './program.ts'
import { writeOtherDatabase } from './other-server.ts'

const encryptionKey = createEncryptionKey('the secret that encrypts in these tests')
const hash = `$2a$10$${'x'.repeat(53)}`
const ada = {
  id: '5870000000000000007',
  username: 'ada',
  password_hash: hash,
  is_admin: 1,
  created_at: 1_750_000_000_000,
}
const mebibyte = 1024 * 1024

/** The peak of this process, which other files share, only rises: Linux begins it anew. */
const forgetPeak = () => writeFile('/proc/self/clear_refs', '5').catch(() => undefined)

/** What is done to a database of one account, and what the command says of it. */
const refused: Record<string, { change: string; says: RegExp; code: number }> = {
  'a view named like a table': {
    change: 'alter table users rename to others; create view users as select * from others',
    says: /lacks users/,
    code: 3,
  },
  'a virtual table named like a table': {
    change: 'drop table spaces; create virtual table spaces using fts5(id, name, owner_id, icon)',
    says: /lacks spaces/,
    code: 3,
  },
  'a row of 200 MiB': { change: `update users set bio = zeroblob(${200 * mebibyte})`, says: /too big/, code: 1 },
  'a column that computes 600 MB': {
    change: `alter table users add column avatar_url as (hex(zeroblob(300000000)))`,
    says: /too big/,
    code: 1,
  },
  'a relation to what is no key': {
    change: `create table odd (x references users (bio)); insert into odd values (1)`,
    says: /foreign key mismatch/,
    code: 3,
  },
  'a name too long for an index': {
    change: `update users set username = hex(randomblob(40000))`,
    says: /index row/,
    code: 1,
  },
  'a damaged page': {
    change: `pragma writable_schema = on; update sqlite_schema set rootpage = 2 where name = 'users'`,
    says: /is broken/,
    code: 3,
  },
}

const kept: Record<string, { change: string; told?: RegExp }> = {
  'triggers that fire on everything': {
    change: `create trigger users after insert on spaces begin delete from users; end;
      create trigger t before update on users begin select raise(abort, 'no'); end`,
  },
  'checks that compute 600 MB': {
    change: `create table odd (x check (length(hex(zeroblob(300000000))) > x)); pragma ignore_check_constraints = on; insert into odd values (1)`,
  },
  'names with SQL in them': {
    change: `create table "users""; drop table users; --" (x); alter table users add column "a"", password_hash = '" text;
      update users set "a"", password_hash = '" = 'x'`,
  },
  'a table without row ids': {
    change: `drop table instance_settings;
      create table instance_settings (id primary key, instance_name) without rowid; insert into instance_settings values (1, 'Old')`,
  },
  'values of other types': {
    change: `update users set bio = x'ff00fe', accent_color = 1e300, created_at = x'00', show_activity = 'yes',
      profile_updated_at = -9e999, avatar_color = 7, replicated_instances = '[{"origin":{"toString":1}},' ||
      replace(hex(zeroblob(20000)), '0', '[') || replace(hex(zeroblob(20000)), '0', ']') || ']'`,
    told: /list of instances/,
  },
  'a hash that would take days': {
    change: `update users set username = 'admin', password_hash = replace(password_hash, '$10$', '$31$')`,
    told: /the password hash has an unknown format/,
  },
}

describe('a hostile file in the import', () => {
  const scope = new AsyncDisposableStack()
  let folder: string
  let database: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-hostile-'))
    scope.defer(() => rm(folder, { recursive: true, force: true }))
    database = scope.use(await migratedDatabase()).url
  })
  after(() => scope.disposeAsync())

  /** A database of one account, and what is done to it. */
  function writeHostile(change: string): string {
    const file = join(folder, `${randomUUID()}.db`)
    writeOtherDatabase(file, { users: [ada], instance_settings: [{ id: 1 }] })
    const open = new DatabaseSync(file, { enableForeignKeyConstraints: false, defensive: false })
    open.exec(change)
    open.close()
    return file
  }

  async function run(file: string, isDryRun: boolean) {
    const given = { file, isDryRun, uploads: null, isForced: false, databaseUrl: database, domain: 'chat.example' }
    const images = { convert: () => Promise.reject(new Error('no pictures')), [Symbol.asyncDispose]: async () => {} }
    const rest = {
      ...uploadsIn(folder),
      images,
      encryptionKey,
      now: Date.now(),
      random: systemRandom,
      progress: () => {},
    }
    return await importDatabase({ ...given, ...rest }).catch((error: unknown) => error)
  }

  const failureOf = async (file: string) => {
    const failure = await run(file, false)
    expect(failure).to.be.instanceOf(CommandFailure)
    const { message, exitCode } = failure as CommandFailure
    expect(message).to.not.include('\n')
    const left = await onDatabase(
      database,
      'select (select count(*) from users) + (select count(*) from audit_log) as n',
    )
    expect(left).to.deep.equal([{ n: '0' }])
    return { message, exitCode }
  }

  for (const [what, { change, says, code }] of Object.entries(refused)) {
    it(`imports nothing and says why in one line: ${what}`, async () => {
      const { message, exitCode } = await failureOf(writeHostile(change))

      expect(message).to.match(says)
      expect(exitCode).to.equal(code)
    })
  }

  it('imports nothing and says why in one line: no pages, a header alone, a page less', async () => {
    const whole = await readFile(writeHostile('select 1'))
    const outcomes = []
    for (const length of [0, 100, whole.length - 4_096]) {
      const file = join(folder, 'cut.db')
      await writeFile(file, whole.subarray(0, length))
      outcomes.push((await failureOf(file)).exitCode)
    }

    expect(outcomes).to.deep.equal([3, 3, 3])
  })

  for (const [what, { change, told }] of Object.entries(kept)) {
    it(`imports the account: ${what}`, async () => {
      const report = (await run(writeHostile(change), true)) as Partial<ImportReport>

      expect(report.tables?.['users'], String(report)).to.deep.equal({ read: 1, imported: 1, skipped: 0, doubles: 0 })
      if (told) expect(report.told?.join('\n')).to.match(told)
    })
  }

  it('takes no more memory for what such a file computes, which would take as much as it wants without the limit', async () => {
    const grown = async (work: () => unknown) => {
      await forgetPeak()
      const before = process.resourceUsage().maxRSS
      await work()
      return (process.resourceUsage().maxRSS - before) / 1024
    }
    const file = writeHostile(refused['a column that computes 600 MB']!.change)

    const bounded = await grown(() => run(file, false))
    const unbounded = await grown(() => new DatabaseSync(file).prepare('select avatar_url from users').get())

    expect(bounded).to.be.lessThan(150)
    expect(unbounded).to.be.greaterThan(400)
  })
})
