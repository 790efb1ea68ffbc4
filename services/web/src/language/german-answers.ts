import { germanRefusals } from './german-refusals.ts'

/** What the client library says, and the texts of refusals that it hands on without their codes, in German. */
export const germanAnswers = {
  'Use 3 to 32 characters': 'Verwende 3 bis 32 Zeichen',
  'Use only letters a to z, digits and underscores': 'Verwende nur Buchstaben von a bis z, Ziffern und Unterstriche',
  'Use at least 6 characters': 'Verwende mindestens 6 Zeichen',
  'The passwords do not match': 'Die Passwörter stimmen nicht überein',
  'Your session has ended. Please log in again.': 'Deine Sitzung ist beendet. Bitte melde dich wieder an.',
  'An administrator has reset your password. Log in with the new one.':
    'Ein Admin hat dein Passwort zurückgesetzt. Melde dich mit dem neuen an.',
  'This account has been deleted.': 'Dieses Konto wurde gelöscht.',
  'Your account has been deleted.': 'Dein Konto wurde gelöscht.',
  'You have logged out in another tab.': 'Du hast dich in einem anderen Tab abgemeldet.',
  'Your account could not be loaded. Please log in again.':
    'Dein Konto ließ sich nicht laden. Bitte melde dich wieder an.',
  'Enter the address of another instance': 'Gib die Adresse einer anderen Instanz ein',
  'Connected, but your account could not be updated': 'Verbunden, aber dein Konto ließ sich nicht ändern',
  'The session there has ended': 'Die Sitzung dort ist beendet',
  'Connect to this instance first': 'Verbinde diese Instanz zuerst',
  'This is not your username': 'Das ist nicht dein Benutzername',
  'Username already taken': germanRefusals.username_taken,
  'Username must be 3 to 32 characters and contain only lowercase letters, numbers and underscores':
    germanRefusals.username_length_invalid,
  'Registration is currently closed': germanRefusals.registration_closed,
  'Invalid username or password': germanRefusals.invalid_credentials,
  'This account has been deleted': germanRefusals.account_deleted,
  'Federated registration is closed on this instance': germanRefusals.federated_registration_closed,
} as const
