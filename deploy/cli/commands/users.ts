import type { userReply } from '@gatehouse/contracts'
import type { Command } from 'commander'
import type { z } from 'zod'
import type { OperatorCall } from '../../calls/operator-calls.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { CommandFailure, exitCodes } from '../failure.ts'
import { formatTime, readSecretLine, record, table } from '../terminal.ts'

type User = z.infer<typeof userReply>

/** `users …`: the routes of admins, and what only the command line does. Contract: 5. */
export function defineUserCommands(program: Command, define: Define): void {
  const users = program.command('users').description('Accounts. A user is named by username or id')
  define(
    users
      .command('list')
      .description('Accounts, newest first')
      .option('--query <text>', 'only those with this text in their name')
      .option('--role <role>', 'admin or non-admin')
      .option('--home <host>', 'those of one home instance, or local')
      .option('--deleted', 'deleted accounts too')
      .option('--suspended', 'suspended accounts alone')
      .option('--invite <id>', 'those that came by one invite')
      .option('--page <number>', 'the page of 100', '1'),
    listUsers,
  )
  define(users.command('show <user>').description('One account'), async (invocation, _options, name) => {
    const user = await findUser(invocation, name)
    return { json: user, text: describeUser(user) }
  })
  define(
    users
      .command('create <username>')
      .description('Makes a local account, whether registration is open or not')
      .option('--display-name <name>')
      .option('--password-stdin', 'read its password from standard input; without it a temporary one is made')
      .option('--admin', 'make it an admin'),
    createUser,
  )
  define(users.command('make-admin <user>').description('Gives the role of an admin'), setRole(true))
  define(users.command('remove-admin <user>').description('Takes the role of an admin away'), setRole(false))
  define(
    users.command('reset-password <user>').description('Gives a temporary password, ends all sessions'),
    resetPassword,
  )
  define(
    users
      .command('recovery-link <user>')
      .description('A link by which the person chooses a new password; nothing changes until it is used'),
    createRecoveryLink,
  )
  define(
    users
      .command('suspend')
      .argument('<users...>')
      .description('Ends all sessions and refuses logins until unsuspend')
      .option('--reason <text>', 'what the person reads at the login'),
    suspendUsers,
  )
  define(
    users.command('unsuspend').argument('<users...>').description('Takes logins again'),
    (invocation, _options, ...names: string[]) => {
      const unsuspend = (id: string): OperatorCall => ({ endpoint: 'unsuspendUser', params: { id } })
      return changeEach(invocation, names, { change: unsuspend, now: 'can log in again' })
    },
  )
  define(
    users
      .command('remove-second-factor <user>')
      .description('Turns off the second factor of who has lost it; the password stays'),
    removeSecondFactor,
  )
  define(users.command('delete <user>').description('Deletes an account with all it wrote'), deleteUser)
}

/** `sessions end`. Contract: 3, sessions/end. */
export function defineSessionCommands(program: Command, define: Define): void {
  const sessions = program.command('sessions').description('Signed-in devices')
  const end = sessions.command('end <user>').description('Ends all sessions of a user; the password stays')
  define(end, async (invocation, _options, name) => {
    const { id, username } = await findUser(invocation, name)
    await invocation.call({ endpoint: 'endUserSessions', params: { id } })
    return { json: { id, username }, text: `All sessions of ${username} have ended` }
  })
}

/** Throws CommandFailure. */
async function findUser({ call }: Invocation, user: string): Promise<User> {
  return (await call({ endpoint: 'findUser', query: { user } }))['user'] as User
}

type ListOptions = {
  query?: string
  role?: string
  home?: string
  deleted?: boolean
  suspended?: boolean
  invite?: string
  page: string
}

async function listUsers({ call }: Invocation, options: ListOptions): Promise<Result> {
  const { query: q, home: homeInstance, deleted: showDeleted, ...others } = options
  const given = Object.entries({ q, homeInstance, showDeleted, ...others, pageSize: 100 }).filter(
    ([, value]) => value != null,
  )
  const reply = await call({ endpoint: 'listUsers', query: Object.fromEntries(given) as Record<string, string> })
  const found = reply['users'] as User[]
  const rows = found.map((user) => [user.id, user.username, user.displayName, roleOf(user), formatTime(user.createdAt)])
  const summary = `${found.length} of ${String(reply['total'])}, page ${String(reply['page'])}`
  return { json: reply, text: `${table(['id', 'username', 'display name', 'role', 'since'], rows)}\n${summary}` }
}

const roleOf = ({ isAdmin, isDeleted, suspendedAt }: User): string | null =>
  isDeleted ? 'deleted' : suspendedAt ? 'suspended' : isAdmin ? 'admin' : null

function describeUser(user: User): string {
  return record({
    id: user.id,
    username: user.username,
    'display name': user.displayName,
    role: roleOf(user) ?? 'user',
    status: user.status,
    ...(user.suspendedAt && { suspended: user.suspendedReason ?? 'without a reason' }),
    'home instance': user.homeInstance ?? 'this one',
    'temporary password': user.passwordChangeRequired ? 'yes, not replaced yet' : 'no',
    'second factor': user.secondFactor ? 'on' : 'off',
    'detached from its home': user.federationHomeOrphaned ? 'yes' : 'no',
    'registered (UTC)': formatTime(user.createdAt),
  })
}

type CreateOptions = { displayName?: string; passwordStdin?: boolean; admin?: boolean }

async function createUser(invocation: Invocation, options: CreateOptions, username: string): Promise<Result> {
  const { call, terminal } = invocation
  const password = options.passwordStdin ? await readSecretLine(terminal) : undefined
  const body = {
    username,
    ...(options.displayName && { displayName: options.displayName }),
    ...(password && { password }),
  }
  const reply = await call({ endpoint: 'createUser', body })
  const { id } = reply['user'] as User
  const user = options.admin
    ? await call({ endpoint: 'setRole', params: { id }, body: { isAdmin: true } })
    : reply['user']
  const json = { user, temporaryPassword: reply['temporaryPassword'] }
  const temporary =
    reply['temporaryPassword'] === null ? '' : `\ntemporary password  ${reply['temporaryPassword'] as string}`
  return { json, text: `${describeUser(user as User)}${temporary}` }
}

function setRole(isAdmin: boolean) {
  return async (invocation: Invocation, _options: object, name: string): Promise<Result> => {
    const { id } = await findUser(invocation, name)
    const user = (await invocation.call({ endpoint: 'setRole', params: { id }, body: { isAdmin } })) as User
    return { json: user, text: `${user.username} is ${user.isAdmin ? 'an admin' : 'no admin any more'}` }
  }
}

async function resetPassword(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`The password of ${username} is replaced and all its sessions end.`)
  const { temporaryPassword } = await invocation.call({ endpoint: 'resetPassword', params: { id } })
  return { json: { id, username, temporaryPassword }, text: `temporary password  ${String(temporaryPassword)}` }
}

type SuspensionOptions = { reason?: string }

async function createRecoveryLink(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  const reply = await invocation.call({ endpoint: 'createRecoveryLink', params: { id } })
  const expires = formatTime(reply['expiresAt'])
  return { json: { id, username, ...reply }, text: record({ link: reply['url'], 'expires (UTC)': expires }) }
}

function suspendUsers(invocation: Invocation, { reason }: SuspensionOptions, ...names: string[]): Promise<Result> {
  return changeEach(invocation, names, { change: (id) => suspensionOf(id, reason), now: 'is suspended' })
}

type Each = { change: (id: string) => OperatorCall; now: string }

/** Of several each alone: those that are refused stand in no other's way. Throws CommandFailure for one alone. */
async function changeEach(invocation: Invocation, names: string[], { change, now }: Each): Promise<Result> {
  const users: User[] = []
  const left: string[] = []
  for (const name of names) {
    try {
      users.push((await invocation.call(change((await findUser(invocation, name)).id))) as User)
    } catch (error) {
      const isOfOne = error instanceof CommandFailure && error.exitCode !== exitCodes.unreachable
      if (!isOfOne || names.length === 1) throw error
      left.push(`${name}: ${error.message}`)
    }
  }
  const text = [...users.map(({ username }) => `${username} ${now}`), ...left].join('\n')
  return { json: names.length === 1 ? users[0] : { users, left }, text }
}

export function suspensionOf(id: string, reason: string | undefined): OperatorCall {
  return { endpoint: 'suspendUser', params: { id }, body: { ...(reason !== undefined && { reason }) } }
}

async function removeSecondFactor(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`From now on the password alone signs ${username} in.`)
  await invocation.call({ endpoint: 'removeSecondFactor', params: { id } })
  return { json: { id, username }, text: `${username} has no second factor any more` }
}

async function deleteUser(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`The account ${username} (${id}) is deleted with all that it wrote.`)
  await invocation.call({ endpoint: 'deleteUser', params: { id } })
  return { json: { id, username }, text: `${username} (${id}) is deleted` }
}
