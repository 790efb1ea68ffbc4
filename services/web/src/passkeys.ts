import type { Client, Endpoints } from '@gatehouse/client'

/** Browsers of before 2025 lack the forms in JSON. Pages without TLS, but for those of this machine, have no passkeys. */
export const canUsePasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

type Response = Endpoints['logInByPasskey']['input']['body']['response']

/** Throws a DOMException, also where the person gives up. Contract: 3, Passkeys. */
export async function choosePasskey(
  client: Client,
  signal: AbortSignal,
  mediation: CredentialMediationRequirement = 'optional',
): Promise<Response> {
  const options = await client.call('passkeyOptions', { signal })
  // eslint-disable-next-line browsers/refuse-newer-apis -- canUsePasskeys asks for it
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return toJson(await navigator.credentials.get({ publicKey, signal, mediation })) as Response
}

export async function logInByPasskey(client: Client, response: Response, signal: AbortSignal): Promise<void> {
  const { token, user } = await client.call('logInByPasskey', { body: { response }, signal })
  client.session.initSession(token, user)
}

/** A challenge lives five minutes. */
const offerMs = 4 * 60_000

/** In the suggestions of the field `username webauthn`, until the signal ends or a request fails: then there is no choice. */
export async function offerPasskeys(client: Client, signal: AbortSignal): Promise<Response | null> {
  if (!canUsePasskeys() || !(await PublicKeyCredential.isConditionalMediationAvailable())) return null
  while (!signal.aborted) {
    const offer = new AbortController()
    const end = () => offer.abort()
    const timer = setTimeout(end, offerMs)
    signal.addEventListener('abort', end)
    try {
      return await choosePasskey(client, offer.signal, 'conditional')
    } catch {
      if (!offer.signal.aborted) return null
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }
  return null
}

/** Throws a DOMException, also where the person gives up. Contract: 3, Passkeys. */
export async function addPasskey(client: Client, addition: { name: string; password: string }, signal: AbortSignal) {
  const { name, password } = addition
  const options = await client.call('beginPasskey', { body: { password }, signal })
  // eslint-disable-next-line browsers/refuse-newer-apis -- canUsePasskeys asks for its like
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await navigator.credentials.create({ publicKey, signal })
  const response = toJson(credential) as Endpoints['addPasskey']['input']['body']['response']
  await client.call('addPasskey', { body: { name, response } })
}

// eslint-disable-next-line browsers/refuse-newer-apis -- canUsePasskeys asks for its like
const toJson = (credential: Credential | null): unknown => (credential as PublicKeyCredential | null)?.toJSON()
