import { normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/options.ts'
import type { Credentials, Registration, User } from '../api/records.ts'
import type { KeyValueStorage } from '../platform.ts'
import { tokenKey } from '../session/session.ts'
import type { Session } from '../session/session.ts'

/** The input of both steps: the account, and its profile. */
export type RegistrationInput = Credentials &
  Pick<Registration, 'displayName' | 'avatarColor' | 'inviteToken'> & { avatar?: Blob | null }

/** `avatarError` is set when the account exists but its avatar could not be saved. */
export type RegistrationOutcome = { user: User; avatarError: Error | null }

export type RegistrationDeps = {
  api: Pick<Api, 'auth'>
  /** The own instance's API, called with a token that is not the session's yet. */
  apiWithToken: (token: string) => Pick<Api, 'uploads' | 'users'>
  storage: KeyValueStorage
  session: Pick<Session, 'initSession'>
}

/**
 * Registers, saves the token to the storage only, saves the avatar, then starts the session; the caller navigates when
 * this resolves. A session that started sooner would let the route guard leave the page before the avatar is saved.
 * Spec: Client session behaviour, registration page.
 */
export async function completeRegistration(
  deps: RegistrationDeps,
  input: RegistrationInput,
  options: CallOptions = {},
): Promise<RegistrationOutcome> {
  const { token, user: registered } = await deps.api.auth.register(registrationOf(input), options)
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
