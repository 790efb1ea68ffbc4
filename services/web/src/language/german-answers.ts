/** What the client library and the server say, in German. Others of their messages are shown as they come. */
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
  'Username already taken': 'Dieser Benutzername ist vergeben',
  'Username must be 3 to 32 characters and contain only lowercase letters, numbers and underscores':
    'Der Benutzername muss 3 bis 32 Zeichen haben, nur Kleinbuchstaben, Ziffern und Unterstriche',
  'Registration is closed. An invite is required.': 'Die Registrierung ist geschlossen. Eine Einladung ist nötig.',
  'Registration is currently closed': 'Die Registrierung ist derzeit geschlossen',
  'Invalid or expired invite': 'Die Einladung gilt nicht oder ist abgelaufen',
  'Federated registration is closed on this instance': 'Diese Instanz nimmt keine Nutzer anderer Instanzen auf',
  'Invalid username or password': 'Benutzername oder Passwort falsch',
  'This account has been deleted': 'Dieses Konto wurde gelöscht',
  'Incorrect password': 'Falsches Passwort',
  'Your password has just been changed, please log in again':
    'Dein Passwort wurde gerade geändert, bitte melde dich wieder an',
  'User not found': 'Nutzer nicht gefunden',
  'The last admin cannot step down': 'Der letzte Admin kann die Rolle nicht abgeben',
  'The last admin cannot be deleted': 'Der letzte Admin kann nicht gelöscht werden',
  'The image has more than 40 megapixels': 'Das Bild hat mehr als 40 Megapixel',
  'The file is not a PNG, JPEG, WebP, GIF or AVIF image': 'Die Datei ist kein Bild als PNG, JPEG, WebP, GIF oder AVIF',
  'An export of this account is under way': 'Ein Export dieses Kontos läuft bereits',
  'Username does not match': 'Der Benutzername stimmt nicht',
  'The image takes too much memory to decode: make it smaller, or save it as JPEG':
    'Das Bild braucht zu viel Speicher: Verkleinere es, oder speichere es als JPEG',
  'Too many uploads that your profile does not use: use one of them, or try again tomorrow':
    'Zu viele hochgeladene Bilder, die dein Profil nicht verwendet: Verwende eines davon, oder versuche es morgen noch einmal',
  'Invite not found': 'Diese Einladung gibt es nicht mehr',
  'This invite is revoked': 'Diese Einladung ist widerrufen',
  'This invite is already active': 'Diese Einladung gilt schon',
  'The invite would still not be usable: raise maxUses or move expiresAt into the future':
    'Die Einladung gälte immer noch nicht: Erlaube mehr Verwendungen, oder lass sie später ablaufen',
  'This is not the origin of an instance that can be reached, such as https://chat.example':
    'Das ist keine Adresse einer erreichbaren Instanz, wie https://chat.example',
  'This is the origin of this instance itself': 'Das ist die Adresse dieser Instanz selbst',
  'The instances are peers already; revoke the peer to start over':
    'Die Instanzen sind schon Partner. Widerrufe die Partnerschaft, um von vorn zu beginnen',
  'The peer needs attention; reset it to start over':
    'Der Partner braucht Aufmerksamkeit. Setze ihn zurück, um von vorn zu beginnen',
  'The peer is not in a state in which this can be done': 'Im jetzigen Zustand des Partners geht das nicht',
  'The peer was changed meanwhile; look at it again':
    'Der Partner hat sich inzwischen geändert. Sieh ihn dir noch einmal an',
  'A rotation of the secret is under way': 'Der Schlüssel wird gerade erneuert',
  'The other instance cannot be reached at the moment': 'Die andere Instanz ist zurzeit nicht erreichbar',
  'The other instance refused': 'Die andere Instanz hat abgelehnt',
  'The other instance did not prove that it holds the secret':
    'Die andere Instanz hat nicht bewiesen, dass sie den Schlüssel hat',
  'The clocks of the two instances are more than 15 minutes apart':
    'Die Uhren der beiden Instanzen gehen um mehr als 15 Minuten auseinander',
  'Too many requests wait for the admin of this instance': 'Zu viele Anfragen warten auf den Admin dieser Instanz',
  'This request has been decided already': 'Über diese Anfrage ist schon entschieden',
} as const
