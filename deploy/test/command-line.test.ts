import { once } from 'node:events'
import { mkdtempDisposable, stat, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectNats } from '@gatehouse/bus'
import { callerHeader, callerKeyLines, createCallerVerifier, createReceiptKeys, signReceipt } from '@gatehouse/auth'
import {
  capturedLog,
  appCode,
  createDataFolder,
  documentedCommand,
  eventually,
  freePort,
  removeFolder,
  startNatsCluster,
} from '@gatehouse/test-kit'
import { expect } from 'chai'
import { findRunningInstance } from '../calls/operator-calls.ts'
import { postJson, readCommand, startInstance, startProgram } from './program.ts'
import { query } from './query.ts'
import { runArguments } from './run-arguments.ts'

const password = 'a long enough password'

describe('the command line beside an embedded instance', () => {
  let folder: string
  let instance: Awaited<ReturnType<typeof startInstance>>
  before(async () => {
    folder = await createDataFolder()
    instance = await startInstance(folder, { FEDERATION_ALLOW_PRIVATE: 'loopback' })
  })
  after(async () => {
    await instance[Symbol.asyncDispose]()
    await removeFolder(folder)
  })

  const gatehouse = (args: string[], input = '') => runArguments(args, { GATEHOUSE_DATA: folder }, input)
  const asJson = async (...args: string[]) => {
    const { code, output, errors } = await gatehouse([...args, '--json'])
    expect({ code, errors }).to.deep.equal({ code: 0, errors: '' })
    return JSON.parse(output) as Record<string, unknown>
  }

  async function adminToken(): Promise<string> {
    await gatehouse(['users', 'create', 'head', '--admin', '--password-stdin'], password)
    const { body } = await postJson(`${instance.url}/api/auth/login`, { username: 'head', password })
    return String(body['token'])
  }

  it('makes accounts and admins, shows and lists them; what it did stands in the audit log as by the operator', async () => {
    const made = await gatehouse(['users', 'create', 'ada', '--password-stdin'], `${password}\n`)
    const second = await asJson('users', 'create', 'bob', '--admin', '--display-name', 'Bob\u001b[2J')

    expect(made.code).to.equal(0)
    expect(second['user']).to.include({ username: 'bob', isAdmin: true })
    expect((await postJson(`${instance.url}/api/auth/login`, { username: 'ada', password })).status).to.equal(200)
    expect(await asJson('users', 'show', 'ada')).to.include({ isAdmin: true, passwordChangeRequired: false })
    const { output } = await gatehouse(['users', 'list', '--role', 'admin'])
    expect(output)
      .to.match(/ada .*admin.*2 of 2, page 1/s)
      .and.not.include('\u001b')
    const { entries } = await asJson('audit', 'list')
    expect((entries as object[])[0]).to.include({ action: 'user.promoted', actorId: null, actorUsername: 'operator' })
  })

  it('asks before what cannot be undone, and without a terminal refuses', async () => {
    await gatehouse(['users', 'create', 'carl', '--password-stdin'], password)

    const { args } = readCommand(documentedCommand('gatehouse users delete <user>', { '<user>': 'carl' }))
    const refused = await gatehouse(args)
    const stillThere = await gatehouse(['users', 'show', 'carl'])
    const wrongMode = await gatehouse([...args, '--yes', '--mode', 'gone'])
    const deleted = await gatehouse([...args, '--yes', '--mode', 'full'])
    const gone = await gatehouse(['users', 'show', 'carl'])

    expect(refused).to.include({ code: 6, output: '' })
    expect(refused.errors).to.match(/^This deletes the user carl .*--yes to confirm\n$/)
    expect([stillThere.code, wrongMode.code, deleted.code, gone.code]).to.deep.equal([0, 3, 0, 4])
    expect(wrongMode.errors).to.include('mode must be soft or full')
    expect(deleted.output).to.include('other instances asked to delete the account: 0')
  })

  it('says with its exit code and one line what stands against a command', async () => {
    const { user } = await asJson('users', 'create', 'dora')
    const outcomes = {
      unknown: await gatehouse(['users', 'make-admin', 'nobody']),
      taken: await gatehouse(['users', 'create', 'dora']),
      command: await gatehouse(['users', 'promote', 'dora']),
      setting: await gatehouse(['settings', 'set', 'colour', 'red']),
      value: await gatehouse(['settings', 'set', 'registrationOpen', 'perhaps']),
      stopped: await runArguments(['users', 'list'], { GATEHOUSE_DATA: join(folder, 'nothing') }),
      option: await gatehouse(['invites', 'create', 'x', '--uses', '2']),
    }

    expect(Object.values(outcomes).map(({ code }) => code)).to.deep.equal([4, 3, 2, 2, 3, 5, 2])
    expect(outcomes.option.errors).to.include('--uses').and.not.include('--yes')
    for (const args of [
      ['users', 'make-admin', 'nobody'],
      ['users', 'promote'],
      ['settings', 'get', 'colour'],
    ]) {
      const { code, output, errors } = await gatehouse([...args, '--json'])
      expect(output).to.equal('')
      expect(JSON.parse(errors), args.join(' ')).to.have.keys('error', 'exitCode').and.include({ exitCode: code })
    }
    for (const { errors, output } of Object.values(outcomes)) {
      expect(output).to.equal('')
      expect(errors).to.not.include('    at ')
    }
    expect(outcomes.stopped.errors).to.match(/^no instance is running in .*\n$/)
    expect((user as { username: string }).username).to.equal('dora')
  })

  it('ends sessions and resets passwords: the earlier token is dead when the command has ended', async () => {
    await gatehouse(['users', 'create', 'eve', '--password-stdin'], password)
    const { body } = await postJson(`${instance.url}/api/auth/login`, { username: 'eve', password })
    const headers = { authorization: `Bearer ${String(body['token'])}` }
    const status = async () => (await fetch(`${instance.url}/api/users/@me`, { headers })).status
    expect(await status()).to.equal(200)
    const issued = Math.floor(Date.now() / 1000)
    while (Math.floor(Date.now() / 1000) <= issued) await new Promise((resolve) => setTimeout(resolve, 50))

    expect((await gatehouse(['sessions', 'end', 'eve'])).code).to.equal(0)

    expect(await status()).to.equal(401)
    const { temporaryPassword } = await asJson('users', 'reset-password', 'eve', '--yes')
    const login = { username: 'eve', password: temporaryPassword }
    expect((await postJson(`${instance.url}/api/auth/login`, login)).status).to.equal(200)
  })

  it('suspends an account and takes its logins again, and suspends who came by an invite, but for the last admin', async () => {
    const login = (username: string) => postJson(`${instance.url}/api/auth/login`, { username, password })
    await gatehouse(['users', 'create', 'mel', '--password-stdin'], password)
    expect((await gatehouse(['users', 'suspend', 'mel', '--reason', 'spam'])).output).to.equal('mel is suspended\n')
    expect((await login('mel')).status).to.equal(403)
    expect((await gatehouse(['users', 'show', 'mel'])).output).to.match(/suspended +spam/)
    expect(await asJson('users', 'unsuspend', 'mel')).to.include({ suspendedAt: null })
    const several = await gatehouse(['users', 'suspend', 'mel', 'nobody_here'])
    expect(several.output).to.match(/^mel is suspended\nnobody_here: .+\n$/)
    const none = await gatehouse(['users', 'suspend', 'nobody_here', 'nobody_there'])
    expect([several.code, none.code, none.output]).to.deep.equal([0, 4, ''])
    expect(none.errors).to.match(/^nobody_here: .+\nnobody_there: .+\n$/)
    expect(await asJson('users', 'unsuspend', 'mel', 'mel')).to.deep.include({ left: [] })
    expect((await login('mel')).status).to.equal(200)

    const invite = await asJson('invites', 'create', 'a leaked link')
    await asJson('settings', 'set', 'registrationOpen', 'false')
    for (const username of ['spam_one', 'spam_two']) {
      const registration = { username, password, inviteToken: invite['token'] }
      expect((await postJson(`${instance.url}/api/auth/register`, registration)).status).to.equal(201)
    }
    await asJson('settings', 'set', 'registrationOpen', 'true')
    const unconfirmed = await gatehouse(['invites', 'suspend-users', String(invite['id'])])
    const done = await asJson('invites', 'suspend-users', String(invite['id']), '--yes')

    expect(unconfirmed.code).to.equal(6)
    expect(done).to.deep.equal({ suspended: ['spam_one', 'spam_two'], left: [] })
    expect(await asJson('users', 'list', '--suspended')).to.include({ total: 2 })
    expect((await login('spam_one')).status).to.equal(403)
    const admins = (await asJson('users', 'list', '--role', 'admin'))['users'] as { username: string }[]
    const outcomes = []
    for (const { username } of admins) outcomes.push((await gatehouse(['users', 'suspend', username])).code)
    expect(outcomes.filter((code) => code !== 0)).to.deep.equal([3])
    for (const { username } of admins) await gatehouse(['users', 'unsuspend', username])
  })

  /** Contract: 3, Identity providers. */
  it('gives an account without a password one, and lists the identities of an account', async () => {
    await gatehouse(['users', 'create', 'ida', '--password-stdin'], password)
    const { databaseUrl } = (await findRunningInstance(folder))!
    const hasNoPassword =
      "update users set password_hash = '!', has_password = false where username = 'ida' returning id"
    const [{ id }] = (await query(databaseUrl, hasNoPassword)) as [{ id: string }]
    const values = `1, ${id}, 'login', 'https://login.example', 'subject', 'Ida', '2026-01-02T03:04:05Z'`
    const columns = 'id, user_id, provider, issuer, subject, name, linked_at'
    await query(databaseUrl, `insert into linked_identities (${columns}) values (${values})`)
    const logIn = (given: unknown) =>
      postJson(`${instance.url}/api/auth/login`, { username: 'ida', password: String(given) })
    expect((await logIn(password)).status).to.equal(401)
    expect((await gatehouse(['users', 'show', 'ida'])).output).to.match(/^password +none$/m)

    const { output } = await gatehouse(['users', 'identities', 'ida'])
    const { temporaryPassword } = await asJson('users', 'reset-password', 'ida', '--yes')

    expect(output).to.match(/^provider +name +linked \(UTC\) +last login \(UTC\)\nlogin +Ida +2026-01-02 03:04:05/)
    expect(await asJson('users', 'identities', 'ida')).to.have.nested.property('identities[0].provider', 'login')
    expect((await logIn(temporaryPassword)).status).to.equal(200)
  })

  /** Contract: 3, Second factor. */
  it('is the way back for who has lost a second factor, and for the admins of whom one is demanded', async () => {
    await gatehouse(['users', 'create', 'fay', '--password-stdin', '--admin'], password)
    const login = async () => (await postJson(`${instance.url}/api/auth/login`, { username: 'fay', password })).body
    const headers = { authorization: `Bearer ${String((await login())['token'])}` }
    const asFay = (path: string, body: object) => postJson(`${instance.url}${path}`, body, headers)
    const { body: begun } = await asFay('/api/users/@me/second-factor', { password })
    const code = appCode(String(begun['secret']), Date.now())
    expect((await asFay('/api/users/@me/second-factor/confirm', { code })).status).to.equal(200)
    expect(await login()).to.include({ code: 'second_factor_required' })
    expect(await asJson('settings', 'set', 'requireSecondFactorForAdmins', 'true')).to.deep.equal({
      requireSecondFactorForAdmins: true,
    })

    expect(await asJson('users', 'remove-second-factor', 'fay', '--yes')).to.include({ username: 'fay' })

    expect(await login()).to.have.property('token')
    const list = async () => (await fetch(`${instance.url}/api/admin/users`, { headers })).status
    expect(await list()).to.equal(403)
    await asJson('settings', 'set', 'requireSecondFactorForAdmins', 'false')
    expect(await list()).to.equal(200)
    expect((await gatehouse(['users', 'remove-second-factor', 'fay', '--yes'])).code).to.equal(3)
  })

  it('reserves usernames, and adds those that are common', async () => {
    const { reservedUsernames } = await asJson('settings', 'set', 'reservedUsernames', 'choir choir_* @common')

    expect(reservedUsernames).to.include.members(['choir', 'choir_*', 'admin*', 'root'])
    await asJson('settings', 'set', 'reservedUsernames', '')
    expect(await asJson('settings', 'get', 'reservedUsernames')).to.deep.equal({ reservedUsernames: [] })
  })

  it('gives the last admin a link by which a new password is chosen', async () => {
    await gatehouse(['users', 'make-admin', 'ada'])
    const { url } = await asJson('users', 'recovery-link', 'ada')
    const token = new URL(String(url)).hash.slice(1)
    const shown = await gatehouse(['users', 'recovery-link', 'bob'])

    const recovered = await postJson(`${instance.url}/api/auth/recover`, { token, newPassword: password })

    expect(recovered.status).to.equal(200)
    expect(shown.output).to.match(/^link +http\S+\/recover#\S+\nexpires \(UTC\) +2/)
    expect((await postJson(`${instance.url}/api/auth/recover`, { token, newPassword: password })).status).to.equal(400)
  })

  it('makes, lists and revokes invites, reads and changes settings, lists peers', async () => {
    const invite = await asJson('invites', 'create', 'friends', '--max-uses', '2', '--expires-in', '7d')
    const changed = await asJson('settings', 'set', 'registrationOpen', 'false')
    const listed = await asJson('invites', 'list')

    expect(invite).to.include({ name: 'friends', maxUses: 2, createdBy: null, status: 'active' })
    expect(listed).to.deep.include(invite)
    expect(changed).to.deep.equal({ registrationOpen: false })
    expect(await asJson('settings', 'get', 'registrationOpen')).to.deep.equal({ registrationOpen: false })
    const headers = { authorization: `Bearer ${await adminToken()}` }
    const settings = await (await fetch(`${instance.url}/api/settings/instance`, { headers })).json()
    expect(await asJson('settings', 'get')).to.deep.equal(settings)
    const registration = { username: 'guest', password, inviteToken: invite['token'] }
    expect((await postJson(`${instance.url}/api/auth/register`, registration)).status).to.equal(201)
    expect((await gatehouse(['invites', 'revoke', String(invite['id'])])).code).to.equal(0)
    expect(await asJson('invites', 'list', '--archived')).to.have.nested.property('[0].status', 'revoked')
    expect(await asJson('peers', 'list')).to.deep.equal({ peers: [], requests: [] })
    expect((await gatehouse(['peers', 'initiate', 'https://10.0.0.1'])).code).to.equal(3)
    expect((await gatehouse(['peers', 'revoke', 'https://unknown.example', '--yes'])).code).to.equal(4)
  })

  it('adds applications, shows each secret once, changes, suspends and deletes them', async () => {
    const documented = (command: string) => asJson(...readCommand(command).args)
    await documented(documentedCommand('gatehouse settings set openidEnabled true'))
    const created = documentedCommand(
      'gatehouse applications create Wiki --redirect-uri https://wiki.example/callback --logout-uri https://wiki.example/logout',
    )
    const made = await documented(`${created} --redirect-uri https://wiki.example/b`)
    const { id, redirectUris } = made['application'] as { id: string; redirectUris: string[] }
    expect(redirectUris).to.deep.equal(['https://wiki.example/callback', 'https://wiki.example/b'])
    const renewed = await asJson('applications', 'renew-secret', 'Wiki')
    expect(renewed['clientSecret']).to.be.a('string').and.not.equal(made['clientSecret'])

    const signals = ['--signals-uri', 'https://wiki.example/signals', '--skip-consent', 'true']
    const changed = await asJson('applications', 'change', id, '--name', 'Library', '--logout-uri', 'none', ...signals)
    expect(changed).to.include({ name: 'Library', skipConsent: true, backchannelLogoutUri: null })
    expect(await asJson('applications', 'verify', 'Library')).to.deep.equal({ success: true })
    expect((await asJson('applications', 'suspend', 'Library'))['suspendedAt']).to.be.a('number')
    const { output } = await gatehouse(readCommand(documentedCommand('gatehouse applications list')).args)
    expect(output).to.match(
      new RegExp(`${id} +Library +suspended +https://wiki.example/callback https://wiki.example/b +signals: `),
    )
    expect(output).to.not.include(String(renewed['clientSecret']))
    expect((await asJson('applications', 'unsuspend', 'Library'))['suspendedAt']).to.equal(null)

    expect((await gatehouse(['applications', 'verify', 'Forum'])).code).to.equal(4)
    expect((await gatehouse(['applications', 'change', id, '--logout-uri', 'http://wiki.example/'])).code).to.equal(3)
    expect((await gatehouse(['applications', 'delete', id])).code).to.equal(6)
    expect((await gatehouse(['applications', 'delete', id, '--yes'])).code).to.equal(0)
    expect(await asJson('applications', 'list')).to.deep.equal([])
    const page = await documented(
      documentedCommand(
        'npm run --silent gatehouse -- applications create Page --redirect-uri http://127.0.0.1:8090/callback --logout-uri http://127.0.0.1:8090/logout --signals-uri http://127.0.0.1:8091/signals',
      ),
    )
    expect(page['clientSecret']).to.be.a('string')
  })

  /** Contract: 3, Approval. */
  it('lists registrations that wait, and approves, denies and restores them', async () => {
    await asJson('settings', 'set', 'registrationOpen', 'true')
    await asJson('settings', 'set', 'approvalRequired', 'true')
    expect(await asJson('settings', 'set', 'denialBlockHours', '1')).to.deep.equal({ denialBlockHours: 1 })
    for (const username of ['human', 'robot_one', 'robot_two']) {
      const registration = { username, password, reason: `I am ${username}\u001b[2J` }
      expect((await postJson(`${instance.url}/api/auth/register`, registration)).status).to.equal(202)
    }
    const waiting = (await asJson('registrations', 'list', '--query', 'I am')) as unknown as { id: string }[]
    const [human, one, two] = waiting.map(({ id }) => id) as [string, string, string]

    const { output } = await gatehouse(['registrations', 'list'])
    const denied = await asJson('registrations', 'deny', one, two, '1', '--block', '--reason', 'spam')
    const restored = await gatehouse(['registrations', 'restore', two])
    const approved = await gatehouse(['registrations', 'approve', human])
    const again = await gatehouse(['registrations', 'approve', human])
    const unknown = await gatehouse(['registrations', 'deny', '1'])
    await asJson('settings', 'set', 'approvalRequired', 'false')

    expect(output)
      .to.match(/human .*robot_one .*robot_two /s)
      .and.not.include('\u001b')
    expect(denied).to.deep.equal({ decided: [one, two], missed: [{ id: '1', code: 'registration_unknown' }] })
    expect([restored.output, approved.output]).to.deep.equal([
      '1 registrations are restored\n',
      '1 registrations are approved\n',
    ])
    expect([again, unknown].map(({ code }) => code)).to.deep.equal([3, 4])
    expect((await postJson(`${instance.url}/api/auth/login`, { username: 'human', password })).status).to.equal(200)
    const { entries } = await asJson('audit', 'list', '--action', 'registration.denied')
    expect((entries as object[])[0]).to.deep.include({
      actorUsername: 'operator',
      detail: { reason: 'spam', block: true },
    })
  })

  it('uses a socket that only the user of the instance may open, which no route of the gateway leads to', async () => {
    const { mode } = await stat(join(folder, 'operator.sock'))

    expect((mode & 0o777).toString(8)).to.equal('600')
    expect((await postJson(`${instance.url}/internal/operator/users`, { username: 'mallory' })).status).to.equal(404)
    expect((await fetch(`${instance.url}/internal/operator/user?user=ada`)).status).to.not.equal(200)
  })

  it('checks database, migrations, clock and the own origin, and exits with 7 when something is wrong', async () => {
    const environment = { GATEHOUSE_DATA: folder }
    const healthy = await runArguments(['check', '--json'], environment)
    const closed = `http://127.0.0.1:${await freePort()}`
    const databaseFile = join(folder, 'database_url')
    await writeFile(databaseFile, (await findRunningInstance(folder))!.databaseUrl)
    const unhealthy = await runArguments(['check'], { DATABASE_URL_FILE: databaseFile, PUBLIC_ORIGIN: closed })
    const itself = await runArguments(['check'], { DATABASE_URL_FILE: databaseFile, PUBLIC_ORIGIN: instance.url })
    await using other = await startServer((_request, response) => {
      response.end(JSON.stringify({ instanceId: 'of another instance', name: 'Another', version: '0.3.0' }))
    })
    const another = await runArguments(['check'], { DATABASE_URL_FILE: databaseFile, PUBLIC_ORIGIN: other.url })
    const container = { IDENTITY_URL: closed, PUBLIC_ORIGIN: instance.url }
    const withoutDatabase = await runArguments(['check'], container)
    const stopped = await runArguments(['check'], { ...environment, GATEHOUSE_DATA: join(folder, 'nothing') })

    const { ok, checks } = JSON.parse(healthy.output) as {
      ok: boolean
      checks: { check: string; ok: boolean | null }[]
    }
    expect([healthy.code, ok]).to.deep.equal([0, true])
    expect(checks.filter((found) => found.ok).map(({ check }) => check)).to.deep.equal([
      'configuration',
      'database',
      'uploads',
      'public address',
      'X-Forwarded-For',
    ])
    expect([unhealthy.code, stopped.code, withoutDatabase.code]).to.deep.equal([7, 7, 0])
    expect([itself.code, another.code], itself.output).to.deep.equal([0, 7])
    expect(another.output).to.match(/FAIL\s+public address\s+http:\S+ answers 200 and not as this instance/)
    expect(withoutDatabase.output).to.match(/skipped\s+database/)
    expect(unhealthy.output)
      .to.match(/FAIL\s+public address/)
      .and.match(/ok\s+database/)
    expect(stopped.output).to.match(/FAIL\s+database\s+no instance is running/)
  })

  it('is a program of its own, with help for each command', async () => {
    await using listing = startProgram('deploy/cli/main.ts', { GATEHOUSE_DATA: folder }, ['settings', 'get', '--json'])
    const settings = await listing.exited
    const help = await gatehouse(['users', 'reset-password', '--help'])
    const overview = await gatehouse(['--help'])

    expect(settings).to.include({ code: 0, stderr: '' })
    expect(JSON.parse(settings.stdout)).to.have.property('instanceName')
    expect(help.code).to.equal(0)
    expect(help.output).to.include('Usage: gatehouse users reset-password').and.include('--yes').and.include('--json')
    expect(overview.output).to.match(
      /^Exit codes:\n {2}0 {2}done\n(?: {2}[1-6] {2}.+\n){6} {2}7 {2}check found a problem$/m,
    )
  })
})

describe('the command line of a distributed instance', () => {
  const secret = 'the secret of the operator of a distributed instance'

  it('calls the services as the operator, the next replica when one is away, and says which cannot be reached', async () => {
    const seen: unknown[] = []
    const verify = createCallerVerifier({ lines: callerKeyLines('operator', [secret]) }, 'identity')
    await using server = await startServer((request, response) => {
      const caller = verify(String(request.headers[callerHeader]), Date.now())
      seen.push([request.url, caller])
      response.writeHead(caller ? 200 : 403, { 'content-type': 'application/json' })
      response.end(JSON.stringify(caller ? { entries: [], nextCursor: null } : { error: 'forbidden' }))
    })
    await using broken = await startServer((request) => void request.socket.destroy())
    await using strange = await startServer((_request, response) => void response.end('<html>'))
    const away = `http://127.0.0.1:${await freePort()}`
    const here = server.url
    const audit = (environment: Record<string, string>) =>
      runArguments(['audit', 'list'], { OPERATOR_SECRET: secret, ...environment })

    const answered = await audit({ IDENTITY_URL: `${away},${here}` })
    const refused = await audit({ IDENTITY_URL: here, OPERATOR_SECRET: 'another secret, as long as the first one is' })
    const unreached = await audit({ IDENTITY_URL: away })
    const unconfigured = await audit({ IDENTITY_URL: here, OPERATOR_SECRET: 'short' })
    const asked = seen.length
    const unanswered = [
      await audit({ IDENTITY_URL: `${broken.url},${here}` }),
      await audit({ IDENTITY_URL: `${strange.url},${here}` }),
    ]

    expect([answered, refused, unreached, unconfigured].map(({ code }) => code)).to.deep.equal([0, 3, 5, 2])
    expect(seen[0]).to.deep.equal([
      '/api/admin/audit?limit=50',
      { address: '127.0.0.1', account: null, operator: true },
    ])
    expect(unreached.errors).to.include('the service identity cannot be reached')
    for (const { code, errors } of unanswered) {
      expect(code).to.equal(5)
      expect(errors).to.match(/^the service identity did not answer: [^\n]+; it may have been done\n$/)
    }
    expect(seen.length, 'no other replica does it again').to.equal(asked)
    expect(unconfigured.errors).to.match(/^OPERATOR_SECRET: must have at least 32 characters/)
  })

  /** Answers `name` of `/internal/operator/user` with an account of this name as id. `acts` are the statuses of each next call. */
  async function startIdentity(acts: Record<string, (number | 'lost' | object)[]>) {
    const calls: string[] = []
    const server = await startServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://identity')
      const name = searchParams.get('user')
      const account = (username: string) => ({ id: username, username, createdAt: 0 })
      const answer = (status: number, body: object) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify(body))
      }
      if (name) {
        answer(200, { user: account(name) })
        return
      }
      if (pathname === '/api/admin/users') {
        answer(200, { users: Object.keys(acts).map(account), nextCursor: null })
        return
      }
      const key = Object.keys(acts).find((one) => pathname.includes(`/${one}`)) ?? ''
      calls.push(key)
      const act = acts[key]?.shift() ?? 200
      if (act === 'lost') request.socket.destroy()
      else if (typeof act === 'object') answer(200, act)
      else answer(act, act === 200 ? account(key) : { error: `status ${act}` })
    })
    const run = async (...args: string[]) => {
      const ran = await runArguments(args, { OPERATOR_SECRET: secret, IDENTITY_URL: server.url })
      const withoutCause = (text: string) => text.replace(/(did not answer): .+?;/g, '$1;')
      return { ...ran, output: withoutCause(ran.output), errors: withoutCause(ran.errors) }
    }
    return { calls, run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }
  const lost = 'the service identity did not answer; it may have been done'
  const remain = (count: string) => `${count} remain: run the command again for them`

  it('tells which accounts are suspended when the instance goes away in between, or is busy', async () => {
    const acts = () => ({ ada: [], bob: [503], cleo: [403], dan: ['lost' as const], eve: [] })
    await using identity = await startIdentity(acts())
    const suspended = await identity.run('users', 'suspend', 'ada', 'bob', 'cleo', 'dan', 'eve')
    await using another = await startIdentity(acts())
    const ofInvite = await another.run('invites', 'suspend-users', '1', '--yes', '--json')
    await using busy = await startIdentity({ ada: [503], bob: [], cleo: [503, 503], dan: [503] })
    const again = await busy.run('users', 'unsuspend', 'ada', 'bob', 'cleo', 'dan')

    const left = ['cleo: status 403', `dan: ${lost}`, 'eve: not tried', 'bob: not tried again']
    expect(suspended).to.deep.equal({
      code: 5,
      output: `${['ada is suspended', ...left].join('\n')}\n`,
      errors: `${remain('3 of 5')}\n`,
    })
    expect(ofInvite.code).to.equal(5)
    expect(JSON.parse(ofInvite.output)).to.deep.equal({ suspended: ['ada'], left })
    expect(JSON.parse(ofInvite.errors)).to.deep.equal({ error: remain('3 of 5'), exitCode: 5 })
    expect(again).to.deep.equal({
      code: 5,
      output: 'bob can log in again\nada can log in again\ncleo: status 503\ndan: not tried again\n',
      errors: `${remain('2 of 4')}\n`,
    })
    expect(busy.calls).to.deep.equal(['ada', 'bob', 'cleo', 'dan', 'ada', 'cleo'])
  })

  it('suspends at the second attempt whom a busy instance left, and says once that it cannot be reached', async () => {
    await using identity = await startIdentity({ ada: [503], bob: ['lost'], cleo: [], dan: [502] })
    const waited = await identity.run('users', 'suspend', 'ada', 'cleo')
    const unreached = await identity.run('users', 'suspend', 'bob', 'cleo')
    const embedded = await identity.run('users', 'suspend', 'dan', 'cleo')

    expect(waited).to.deep.equal({ code: 0, output: 'cleo is suspended\nada is suspended\n', errors: '' })
    expect(unreached).to.deep.equal({ code: 5, output: '', errors: `${lost}\n` })
    expect(embedded, 'as the socket answers').to.deep.equal({ code: 5, output: '', errors: 'status 502\n' })
    expect(identity.calls).to.deep.equal(['ada', 'cleo', 'ada', 'bob', 'dan'])
  })

  it('tells which of many registrations are decided when the instance goes away in between, or is busy', async () => {
    const ids = Array.from({ length: 401 }, (_, index) => String(index + 1))
    const [first, second] = [ids.slice(0, 200), ids.slice(200, 400)]
    const missed = [{ id: '2', code: 'registration_decided' }]
    const busy = { id: '3', code: 'unavailable' }
    const part = { decided: ['1'], missed: [...missed, busy] }
    await using identity = await startIdentity({ decide: [part, { decided: second, missed: [] }, 'lost'] })
    const approved = await identity.run('registrations', 'approve', '--json', ...ids)
    const late = [part, { decided: ['401'], missed: [] }, { decided: ['3'], missed: [] }]
    await using other = await startIdentity({ decide: late })
    const denied = await other.run('registrations', 'deny', ...first, '401')

    expect(approved.code).to.equal(5)
    expect(JSON.parse(approved.output)).to.deep.equal({
      decided: ['1', ...second],
      missed,
      left: [`401: ${lost}`, '3: not tried again'],
    })
    expect(JSON.parse(approved.errors)).to.deep.equal({ error: remain('2 of 401'), exitCode: 5 })
    expect(denied).to.deep.equal({
      code: 0,
      output: '3 registrations are denied\n2: registration_decided\n',
      errors: '',
    })
  })

  it('prints the temporary password of an account that could not become an admin', async () => {
    const made = { user: { id: '7', username: 'ada', createdAt: 0 }, temporaryPassword: 'for once' }
    await using identity = await startIdentity({ 'operator/users': [made, made], 'users/7': [503, 'lost'] })
    const busy = await identity.run('users', 'create', 'ada', '--admin')
    const unanswered = await identity.run('users', 'create', 'ada', '--admin', '--json')

    const how = '\nto make ada an admin: gatehouse users make-admin ada'
    expect(busy).to.include({ code: 5, errors: `could not make ada an admin: status 503${how}\n` })
    expect(busy.output)
      .to.match(/^username +ada$/m)
      .and.match(/^temporary password {2}for once$/m)
    expect(JSON.parse(unanswered.output)).to.deep.equal(made)
    expect(JSON.parse(unanswered.errors)).to.deep.equal({
      error: `could not make ada an admin: ${lost}${how}`,
      exitCode: 5,
    })
  })

  it('checks that NATS and Redis answer, and says why they do not', async () => {
    const nowhere = `127.0.0.1:${await freePort()}`
    const servers = { NATS_URL: `nats://${nowhere}`, REDIS_URL: `redis://${nowhere}` }

    const addresses = { IDENTITY_URL: `http://${nowhere}`, PUBLIC_ORIGIN: `http://${nowhere}`, ...servers }
    const { code, output } = await runArguments(['check'], addresses)

    expect(code).to.equal(7)
    expect(output)
      .to.match(/FAIL\s+bus \(NATS\)\s+does not answer \(.*REFUSED.*\)/)
      .and.match(/FAIL\s+cache \(Redis\)\s+does not answer \(.*ECONNREFUSED.*\)/)
  })

  /** Contract: 8, NATS of three nodes. */
  it('names the streams of a NATS cluster that lack a node', async () => {
    await using nats = await startNatsCluster()
    const nowhere = `http://127.0.0.1:${await freePort()}`
    const addresses = { IDENTITY_URL: nowhere, PUBLIC_ORIGIN: nowhere, NATS_URL: nats.url }
    const shows = (line: RegExp) =>
      eventually(String(line), async () => line.test((await runArguments(['check'], addresses)).output))

    await shows(/FAIL\s+bus \(NATS\)\s+gatehouse-events does not exist/)
    await using _identity = await connectNats({ url: nats.url, name: 'identity', log: capturedLog().log })
    await shows(/ok\s+bus \(NATS\)\s+answers/)
    const lost = ((await nats.leaderOf('gatehouse-events')) + 1) % nats.nodes.length
    await nats.nodes[lost]!.kill()
    await shows(new RegExp(`FAIL\\s+bus \\(NATS\\)\\s+gatehouse-events is .+ on node-${lost}`))
    await nats.nodes[lost]!.start()
    await shows(/ok\s+bus \(NATS\)\s+answers/)
  }).timeout(180_000)
})

/** Contract: 7, Receipts. */
describe('the command line without any instance', () => {
  it('verifies the receipts of a file, wherever they stand in it, and fails for one that is forged', async () => {
    const keys = createReceiptKeys('e'.repeat(32))
    const receipt = { homeUserId: '7', mode: 'full' as const, deletedAt: 0, origin: 'https://b.example' }
    const kept = { ...signReceipt(keys, receipt), publicKey: keys.published[0]! }
    const forged = { ...kept, receipt: { ...receipt, homeUserId: '8' } }
    await using folder = await mkdtempDisposable(join(tmpdir(), 'gatehouse-receipts-'))
    const verify = async (content: unknown) => {
      const file = join(folder.path, 'file.json')
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
      const command = documentedCommand('gatehouse receipts verify <file>', { '<file>': file })
      return await runArguments(readCommand(command).args, {})
    }
    const genuine = await verify({ orders: [{ receipt: null }, { receipt: kept }] })
    const bad = [await verify([kept, forged]), await verify({ orders: [] }), await verify('no JSON')]

    expect([genuine.code, ...bad.map(({ code }) => code)]).to.deep.equal([0, 1, 2, 2])
    expect(genuine.output).to.match(/genuine +https:\/\/b.example +7 +full +1970-01-01/)
    expect(bad[0]!.errors)
      .to.match(/genuine/)
      .and.match(/FORGED +https:\/\/b.example +8/)
  })
})

async function startServer(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close }
}
