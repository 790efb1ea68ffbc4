import type { Client } from '@gatehouse/client'
import { startProvider } from '@gatehouse/client/providers'
import { keepOverLoad } from './kept-state.ts'
import { forgetTrip } from './provider-trips.ts'

/** What a person has typed for an account, and where to. It is there again after the provider. */
export type LogInEntry = {
  provider: string
  redirect?: string | null
  username?: string
  displayName?: string
  invite?: string
}

const entryKey = 'gatehouse_provider_login'

/** Leads to the provider. `isOnlyWay`: the way back leads to what came before this page. Throws as `startProvider`. */
export async function logInByProvider(client: Client, entry: LogInEntry, isOnlyWay = false): Promise<void> {
  forgetTrip()
  const { provider, redirect } = entry
  const url = await startProvider(client, { provider, purpose: 'login', redirect: redirect ?? null })
  sessionStorage.setItem(entryKey, JSON.stringify(entry))
  keepOverLoad()
  await leaveFor(url, isOnlyWay)
}

export function readEntry(): LogInEntry | null {
  try {
    return JSON.parse(sessionStorage.getItem(entryKey) ?? 'null') as LogInEntry | null
  } catch {
    return null
  }
}

export function forgetEntry(): void {
  sessionStorage.removeItem(entryKey)
}

/** Resolves where the browser brings this page back as it was left. */
export async function leaveFor(url: string, isReplacing = false): Promise<void> {
  const isBack = new Promise<void>((resolve) => {
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) resolve()
    })
  })
  if (isReplacing) location.replace(url)
  else location.assign(url)
  await isBack
}
