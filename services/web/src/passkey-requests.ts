import { type Client, type Endpoints, isAborted } from '@gatehouse/client'
import {
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import { PasskeyFailure } from './passkey-failure.ts'

type Response = Endpoints['logInByPasskey']['input']['body']['response']

/** Throws PasskeyFailure. Contract: 3, Passkeys. */
export async function choosePasskey(
  client: Client,
  signal: AbortSignal,
  useBrowserAutofill = false,
): Promise<Response> {
  const optionsJSON = await client.call('passkeyOptions', { signal })
  return await request(signal, optionsJSON.rpId, () => startAuthentication({ optionsJSON, useBrowserAutofill }))
}

export async function logInByPasskey(client: Client, response: Response, signal: AbortSignal): Promise<void> {
  const { token, user } = await client.call('logInByPasskey', { body: { response }, signal })
  client.session.initSession(token, user)
}

/** A challenge lives five minutes. */
const offerMs = 4 * 60_000

/** In the suggestions of the field `username webauthn`, until the signal ends or a request fails: then there is no choice. */
export async function offerPasskeys(client: Client, signal: AbortSignal): Promise<Response | null> {
  if (!(await browserSupportsWebAuthnAutofill())) return null
  while (!signal.aborted) {
    const offer = new AbortController()
    const end = () => offer.abort()
    const timer = setTimeout(end, offerMs)
    signal.addEventListener('abort', end)
    try {
      return await choosePasskey(client, offer.signal, true)
    } catch {
      if (!offer.signal.aborted) return null
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }
  return null
}

type Addition = { name: string; proof: Endpoints['beginPasskey']['input']['body'] }

/** Throws PasskeyFailure. Contract: 3, Passkeys. */
export async function addPasskey(client: Client, { name, proof }: Addition, signal: AbortSignal) {
  const optionsJSON = await client.call('beginPasskey', { body: proof, signal })
  const response = await request(signal, optionsJSON.rp.id, () => startRegistration({ optionsJSON }))
  await client.call('addPasskey', { body: { name, response } })
}

let latest: AbortSignal | null = null

/** The browser takes one request at a time: a later one ends the one before. */
async function request<T>(signal: AbortSignal, host: string, start: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  latest = signal
  const cancel = () => {
    if (latest === signal) WebAuthnAbortService.cancelCeremony()
  }
  signal.addEventListener('abort', cancel)
  try {
    return await start()
  } catch (error) {
    throw isAborted(error) ? error : new PasskeyFailure(reasonOf(error), host, { cause: error })
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function reasonOf(error: unknown): PasskeyFailure['reason'] {
  const name = error instanceof Error ? error.name : ''
  if (name === 'InvalidStateError') return 'exists'
  return name === 'SecurityError' ? 'other_address' : 'none'
}
