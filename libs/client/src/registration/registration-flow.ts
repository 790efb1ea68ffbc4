import { normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/call.ts'
import type { Credentials, Registration, User } from '../api/records.ts'
import type { KeyValueStorage } from '../platform.ts'
import { tokenKey, type Session } from '../session/session.ts'

export type RegistrationInput = Credentials &
  Pick<Registration, 'displayName' | 'avatarColor' | 'inviteToken'> & { avatar?: Blob | null }

/** `avatarError`: the account exists, but the avatar was not saved. */
export type RegistrationOutcome = { user: User; avatarError: Error | null }

/** The route guard would leave the page too early. Spec: Client session behaviour, registration page. */
export async function completeRegistration(
  deps: {
    api: Pick<Api, 'call'>
    apiWithToken: (token: string) => Pick<Api, 'call' | 'upload'>
    storage: KeyValueStorage
    session: Pick<Session, 'initSession'>
  },
  input: RegistrationInput,
  options: CallOptions = {},
): Promise<RegistrationOutcome> {
  const { token, user: registered } = await deps.api.call('register', { body: registrationOf(input), ...options })
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
  api: Pick<Api, 'call' | 'upload'>,
  user: User,
  avatar: Blob | null,
): Promise<RegistrationOutcome> {
  if (!avatar) return { user, avatarError: null }
  try {
    const { filename } = await api.upload(avatar)
    return { user: await api.call('patchSelf', { body: { avatar: filename } }), avatarError: null }
  } catch (error) {
    return { user, avatarError: error as Error }
  }
}
