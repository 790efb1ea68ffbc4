import type { MailLanguage } from '@gatehouse/contracts'

/** `{name}`: a fact of the mail. The first line is the subject, the last one of `confirmation` and `recovery` that of the link. */
type Text = readonly [subject: string, ...lines: string[]]

const english = {
  confirmation: [
    'Confirm your email address',
    'The account {username} on {instance} asks to use this email address.',
    'The link works for 24 hours. If you didn’t ask for this, ignore this mail.',
    'Confirm email address',
  ],
  recovery: [
    'Reset your password',
    'Someone asked for a new password for the account {username} on {instance}.',
    'The link works for one hour, and only once. If you didn’t ask for this, ignore this mail: nothing changes.',
    'Choose a new password',
  ],
  password_changed: ['Your password was changed', 'The password of {username} was changed on {at}.'],
  password_recovered: ['Your password was reset', 'A new password was chosen for {username} by a link on {at}.'],
  password_reset: ['An admin reset your password', 'An admin gave {username} a temporary password on {at}.'],
  second_factor_on: ['Two-factor authentication is on', 'It was turned on for {username} on {at}.'],
  second_factor_off: ['Two-factor authentication is off', 'It was turned off for {username} on {at}.'],
  passkey_added: ['A passkey was added', 'A passkey was added to {username} on {at}. It can log in.'],
  passkey_removed: ['A passkey was removed', 'A passkey of {username} was removed on {at}.'],
  identity_linked: ['An account was linked', 'An account at {provider} can log in as {username} since {at}.'],
  identity_unlinked: ['An account was unlinked', 'An account at {provider} can’t log in as {username} since {at}.'],
  suspended: ['Your account is suspended', 'An admin suspended {username} on {at}.', 'Reason: {reason}'],
  deleted: ['Your account was deleted', 'The account {username} was deleted on {at}. No further mail follows.'],
  email_changed: ['Your email address was changed', '{username} got another email address on {at}.'],
  email_removed: ['Your email address was removed', '{username} has no email address since {at}.'],
  login: [
    'New login',
    '{username} logged in on {at} with a device or from a network that wasn’t used in the last 30 days.',
    'Device: {device}',
    'Network: {network}',
  ],
  test: ['Test mail', 'Mail from {instance} arrives. An admin asked for this mail.'],
  alarm: ['If this wasn’t you, log in and change your password now. If you can’t, ask an admin.'],
  reason: ['{instance} sends this mail because {username} uses this address.'],
  open: ['Open {instance}'],
} as const satisfies Record<string, Text>

const german: Record<keyof typeof english, Text> = {
  confirmation: [
    'Bestätige deine E-Mail-Adresse',
    'Das Konto {username} auf {instance} möchte diese E-Mail-Adresse verwenden.',
    'Der Link gilt 24 Stunden. Wenn du das nicht warst, ignoriere diese E-Mail.',
    'E-Mail-Adresse bestätigen',
  ],
  recovery: [
    'Setze dein Passwort zurück',
    'Jemand hat ein neues Passwort für das Konto {username} auf {instance} angefordert.',
    'Der Link gilt eine Stunde und nur einmal. Wenn du das nicht warst, ignoriere diese E-Mail: Es ändert sich nichts.',
    'Neues Passwort wählen',
  ],
  password_changed: ['Dein Passwort wurde geändert', 'Das Passwort von {username} wurde am {at} geändert.'],
  password_recovered: ['Dein Passwort wurde zurückgesetzt', '{username} hat seit dem {at} ein neues, über einen Link.'],
  password_reset: ['Ein Admin hat dein Passwort zurückgesetzt', '{username} hat seit dem {at} ein vorläufiges.'],
  second_factor_on: ['Zwei-Faktor-Authentifizierung ist an', 'Sie wurde für {username} am {at} eingeschaltet.'],
  second_factor_off: ['Zwei-Faktor-Authentifizierung ist aus', 'Sie wurde für {username} am {at} ausgeschaltet.'],
  passkey_added: ['Ein Passkey wurde hinzugefügt', 'Mit ihm kann man sich seit dem {at} als {username} anmelden.'],
  passkey_removed: ['Ein Passkey wurde entfernt', 'Ein Passkey von {username} wurde am {at} entfernt.'],
  identity_linked: [
    'Ein Konto wurde verknüpft',
    'Ein Konto bei {provider} kann sich seit dem {at} als {username} anmelden.',
  ],
  identity_unlinked: [
    'Ein Konto wurde getrennt',
    'Das Konto bei {provider} gehört seit dem {at} nicht mehr zu {username}.',
  ],
  suspended: ['Dein Konto ist gesperrt', 'Ein Admin hat {username} am {at} gesperrt.', 'Grund: {reason}'],
  deleted: ['Dein Konto wurde gelöscht', '{username} wurde am {at} gelöscht. Weitere E-Mails bekommst du nicht.'],
  email_changed: ['Deine E-Mail-Adresse wurde geändert', '{username} hat seit dem {at} eine andere E-Mail-Adresse.'],
  email_removed: ['Deine E-Mail-Adresse wurde entfernt', '{username} hat seit dem {at} keine E-Mail-Adresse.'],
  login: [
    'Neue Anmeldung',
    '{username} hat sich am {at} mit einem Gerät oder aus einem Netz angemeldet, das seit 30 Tagen nicht benutzt wurde.',
    'Gerät: {device}',
    'Netz: {network}',
  ],
  test: ['Test-E-Mail', 'E-Mails von {instance} kommen an. Ein Admin hat um diese E-Mail gebeten.'],
  alarm: ['Wenn du das nicht warst, ändere sofort dein Passwort. Wenn das nicht geht, bitte einen Admin um Hilfe.'],
  reason: ['{instance} schickt diese E-Mail, weil {username} diese Adresse verwendet.'],
  open: ['{instance} öffnen'],
}

export const texts: Record<MailLanguage, Record<keyof typeof english, Text>> = { en: english, de: german }

export type MailKind = Exclude<keyof typeof english, 'alarm' | 'reason' | 'open'>
export const linkPaths = { confirmation: '/confirm-email#token=', recovery: '/recover#' } as const
export type NoticeKind = Exclude<MailKind, keyof typeof linkPaths | 'test'>
