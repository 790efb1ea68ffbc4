/** A rule of the specification: its name in docstrings and test titles, and its subject. */
export type Rule = { name: string; about: string }

const numbered = (section: string, about: readonly string[]): Rule[] =>
  about.map((text, at) => ({ name: `${section} ${at + 1}`, about: text }))

/** Each of them must have an operation and a test. */
export const rules: readonly Rule[] = [
  ...numbered('Registration', [
    'format of local usernames',
    'format of federated usernames',
    'which setting opens the local gate',
    'an invite token bypasses the closed local gate',
    'the federated gate',
    'login is independent of both gates',
    'how the two gates combine',
    'stubs of the relay are independent of both gates',
    'order of the steps, the first admin',
    'upgrade of a stub to an account',
    'an invite is redeemed atomically with the insert of the user',
  ]),
  ...numbered('Login', [
    'lookup of the username',
    'deleted accounts',
    'the stored hash decides',
    'wrong passwords of local users',
    'federated users: the home instance verifies the password, and the stored hash is refreshed',
    'the status does not change',
  ]),
  ...numbered('change-password', [
    'format of the new password',
    'local users give the current password',
    'federated users need not',
    'earlier tokens are revoked, a new one is issued',
  ]),
  ...numbered('DELETE self', [
    'confirmation by the username',
    'local users give the password',
    'owners of spaces are refused',
    'tombstone, files and sockets',
  ]),
  { name: 'Tombstone', about: 'what is erased of an account and what is kept' },
  ...numbered('Admin reset', [
    'whose password can be reset',
    'format of the temporary password',
    'all sockets are closed',
    'the admin passes the temporary password on',
  ]),
  ...numbered('WebSocket handshake', [
    'authentication timeout',
    'the first message',
    'which tokens are accepted',
    'after success',
    'after failure',
  ]),
  { name: 'Bearer tokens', about: 'which tokens protected routes accept' },
  { name: 'Token payload', about: 'claims of a token' },
  { name: 'Configuration', about: 'environment variables' },
  { name: 'User record', about: 'columns of an account' },
  { name: 'Sanitized user', about: 'fields of an account in responses' },
  { name: 'Instance settings', about: 'the single row of settings' },
  { name: 'Invite link', about: 'the token of an invite' },
  { name: 'Invite redemption', about: 'record of a redemption' },
  { name: 'Invite status', about: 'derived states and their transitions' },
  { name: 'check-username', about: 'whether a username is available' },
  { name: 'check-invite', about: 'whether an invite is valid' },
  { name: 'federation-identity/delete', about: 'fan-out of a deletion' },
  { name: 'Limits', about: 'rate limits for each address' },
  { name: 'Errors', about: 'format of error responses' },
  { name: 'Client session behaviour', about: 'the session in the browser' },
]

const sections = [...new Set(rules.map(({ name }) => name.replace(/ [0-9]+$/, '')))].sort((a, b) => b.length - a.length)
const escaped = sections.map((section) => section.replace(/[/-]/g, '\\$&')).join('|')
const mention = new RegExp(`(?<![\\w-])(${escaped})(?![\\w-])(?: ([0-9][0-9, \\-–]*(?:and [0-9]+)?))?`, 'g')

/** The rules that a text names: `Login 1-3, Admin reset 2 and 4` names five, `Invite link, token` one. */
export function rulesNamedIn(text: string): string[] {
  return [...text.matchAll(mention)].flatMap(([, section = '', numbers]) =>
    numbers === undefined ? [section] : expand(numbers).map((number) => `${section} ${number}`),
  )
}

function expand(numbers: string): number[] {
  return numbers.split(/,|and/).flatMap((part) => {
    const [first, last] = part.split(/[-–]/).map((text) => Number.parseInt(text, 10))
    if (first === undefined || Number.isNaN(first)) return []
    return Array.from({ length: (last || first) - first + 1 }, (_, at) => first + at)
  })
}
