import type { userReply } from '@gatehouse/contracts'
import type { Command } from 'commander'
import type { z } from 'zod'
import type { Define, Invocation, Result } from '../invocation.ts'
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
      .option('--page <number>', 'the page of 100', '1'),
    listUsers,
  )
  define(users.command('show').argument('<user>').description('One account'), async (invocation, _options, name) => {
    const user = await findUser(invocation, name)
    return { json: user, text: describeUser(user) }
  })
  define(
    users
      .command('create')
      .argument('<username>')
      .description('Makes a local account, whether registration is open or not')
      .option('--display-name <name>')
      .option('--password-stdin', 'read its password from standard input; without it a temporary one is made')
      .option('--admin', 'make it an admin'),
    createUser,
  )
  define(users.command('make-admin').argument('<user>').description('Gives the role of an admin'), setRole(true))
  define(
    users.command('remove-admin').argument('<user>').description('Takes the role of an admin away'),
    setRole(false),
  )
  define(
    users.command('reset-password').argument('<user>').description('Gives a temporary password, ends all sessions'),
    resetPassword,
  )
  define(users.command('delete').argument('<user>').description('Deletes an account with all it wrote'), deleteUser)
}

/** `sessions end`. Contract: 3, sessions/end. */
export function defineSessionCommands(program: Command, define: Define): void {
  const sessions = program.command('sessions').description('Signed-in devices')
  const end = sessions.command('end').argument('<user>').description('Ends all sessions of a user; the password stays')
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

type ListOptions = { query?: string; role?: string; home?: string; deleted?: boolean; page: string }

async function listUsers({ call }: Invocation, options: ListOptions): Promise<Result> {
  const { query: q, role, home: homeInstance, deleted: showDeleted, page } = options
  const given = Object.entries({ q, role, homeInstance, showDeleted, page, pageSize: 100 }).filter(
    ([, value]) => value != null,
  )
  const reply = await call({ endpoint: 'listUsers', query: Object.fromEntries(given) as Record<string, string> })
  const found = reply['users'] as User[]
  const rows = found.map((user) => [user.id, user.username, user.displayName, roleOf(user), formatTime(user.createdAt)])
  const summary = `${found.length} of ${String(reply['total'])}, page ${String(reply['page'])}`
  return { json: reply, text: `${table(['id', 'username', 'display name', 'role', 'since'], rows)}\n${summary}` }
}

const roleOf = ({ isAdmin, isDeleted }: User): string | null => (isDeleted ? 'deleted' : isAdmin ? 'admin' : null)

function describeUser(user: User): string {
  return record({
    id: user.id,
    username: user.username,
    'display name': user.displayName,
    role: roleOf(user) ?? 'user',
    status: user.status,
    'home instance': user.homeInstance ?? 'this one',
    'temporary password': user.passwordChangeRequired ? 'yes, not replaced yet' : 'no',
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

async function deleteUser(invocation: Invocation, _options: object, name: string): Promise<Result> {
  const { id, username } = await findUser(invocation, name)
  await invocation.confirm(`The account ${username} (${id}) is deleted with all that it wrote.`)
  await invocation.call({ endpoint: 'deleteUser', params: { id } })
  return { json: { id, username }, text: `${username} (${id}) is deleted` }
}
