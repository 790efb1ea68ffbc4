import type { Api } from '../api/api.ts'
import type { AvatarColor, Credentials, Registration, User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'
import type { KeyValueStorage } from '../ports.ts'
import { tokenKey } from '../session/session.ts'
import type { Session } from '../session/session.ts'
import { normalizeUsername } from './registration-checks.ts'

/** Both steps together: the account, and how it should look. */
export type RegistrationInput = Credentials & {
  displayName?: string | null
  avatarColor?: AvatarColor | null
  inviteToken?: string | null
  avatar?: Blob | null
}

/** `avatarError` is set when the account stands but its picture could not be saved. */
export type RegistrationOutcome = { user: User; avatarError: Error | null }

export type RegistrationDeps = {
  api: Pick<Api, 'auth'>
  /** The own instance's API speaking with a token that is not the session's yet. */
  apiWithToken: (token: string) => Pick<Api, 'uploads' | 'users'>
  storage: KeyValueStorage
  session: Pick<Session, 'initSession'>
}

/**
 * Registers, keeps the token in the storage only, saves the picture, then starts the session; the caller navigates when
 * this resolves. The session must not exist sooner: the route guard would leave the page before the picture is saved.
 * Spec: Client session behaviour, registration page.
 */
export async function completeRegistration(
  deps: RegistrationDeps,
  input: RegistrationInput,
  call: CallOptions = {},
): Promise<RegistrationOutcome> {
  const { token, user: registered } = await deps.api.auth.register(registrationOf(input), call)
  deps.storage.setItem(tokenKey, token)
  const { user, avatarError } = await saveAvatar(deps.apiWithToken(token), registered, input.avatar ?? null)
  deps.session.initSession(token, user, { password: input.password })
  return { user, avatarError }
}

function registrationOf(input: RegistrationInput): Registration {
  return {
    username: normalizeUsername(input.username),
    password: input.password,
    ...(input.displayName ? { displayName: input.displayName } : {}),
    ...(input.avatarColor ? { avatarColor: input.avatarColor } : {}),
    ...(input.inviteToken ? { inviteToken: input.inviteToken } : {}),
  }
}

async function saveAvatar(
  api: Pick<Api, 'uploads' | 'users'>,
  user: User,
  avatar: Blob | null,
): Promise<RegistrationOutcome> {
  if (!avatar) return { user, avatarError: null }
  try {
    const { filename } = await api.uploads.send(avatar)
    return { user: await api.users.update({ avatar: filename }), avatarError: null }
  } catch (error) {
    return { user, avatarError: error as Error }
  }
}
