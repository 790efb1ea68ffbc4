/** A rule of the specification as docstrings and test titles name it, and what it is about. */
export type Rule = { name: string; about: string }

const numbered = (section: string, about: readonly string[]): Rule[] =>
  about.map((text, at) => ({ name: `${section} ${at + 1}`, about: text }))

/** Everything that must have an operation and a test. */
export const rules: readonly Rule[] = [
  ...numbered('Registration', [
    'form of local usernames',
    'form of federated usernames',
    'who decides over the local gate',
    'an invite opens the closed local gate',
    'the federated gate',
    'logging in needs no gate',
    'how the two gates combine',
    'stubs of the relay come by no gate of registration',
    'order of the steps, the first admin',
    'a stub becomes an account',
    'an invite is redeemed wholly or not at all',
  ]),
  ...numbered('Login', [
    'how the name is looked up',
    'deleted accounts',
    'the stored hash decides',
    'wrong passwords of local users',
    'the home instance decides for federated users, and the hash is repaired',
    'the status stays',
  ]),
  ...numbered('change-password', [
    'form of the new password',
    'local users prove the current one',
    'federated users need not',
    'earlier tokens die, a fresh one is given',
  ]),
  ...numbered('DELETE self', [
    'the username is repeated',
    'local users prove the password',
    'owners of spaces stay',
    'tombstone, files and sockets',
  ]),
  { name: 'Tombstone', about: 'what of an account goes and what stays' },
  ...numbered('Admin reset', [
    'whose password can be reset',
    'form of the temporary password',
    'all sockets close',
    'the admin hands it on',
  ]),
  ...numbered('WebSocket handshake', [
    'time to authenticate',
    'the first message',
    'which tokens pass',
    'what follows success',
    'what follows failure',
  ]),
  { name: 'Bearer tokens', about: 'which tokens open protected routes' },
  { name: 'Token payload', about: 'what a token says' },
  { name: 'Configuration', about: 'what the environment decides' },
  { name: 'User record', about: 'columns of an account' },
  { name: 'Sanitized user', about: 'what the API shows of an account' },
  { name: 'Instance settings', about: 'the single row of settings' },
  { name: 'Invite link', about: 'the token of an invite' },
  { name: 'Invite redemption', about: 'the record of who came' },
  { name: 'Invite status', about: 'the derived states and their changes' },
  { name: 'check-username', about: 'whether a name is free' },
  { name: 'check-invite', about: 'whether a link can be used' },
  { name: 'federation-identity/delete', about: 'fan-out of a deletion' },
  { name: 'Limits', about: 'requests for each address' },
  { name: 'Errors', about: 'what refusals look like' },
  { name: 'Client session behaviour', about: 'the session in the browser' },
]

const sections = [...new Set(rules.map(({ name }) => name.replace(/ [0-9]+$/, '')))].sort((a, b) => b.length - a.length)
const escaped = sections.map((section) => section.replace(/[/-]/g, '\\$&')).join('|')
const mention = new RegExp(`(?<![\\w-])(${escaped})(?![\\w-])(?: ([0-9][0-9, \\-–]*(?:and [0-9]+)?))?`, 'g')

/** The rules that a text names: `Login 1-3, Admin reset 2 and 4` names five, `Invite link, token` one. */
export function rulesNamedIn(text: string): string[] {
  return [...text.matchAll(mention)].flatMap(([, section, numbers]) =>
    numbers === undefined ? [section!] : expand(numbers).map((number) => `${section} ${number}`),
  )
}

function expand(numbers: string): number[] {
  return numbers.split(/,|and/).flatMap((part) => {
    const [first, last] = part.split(/[-–]/).map((text) => Number.parseInt(text, 10))
    if (first === undefined || Number.isNaN(first)) return []
    return Array.from({ length: (last || first) - first + 1 }, (_, at) => first + at)
  })
}
