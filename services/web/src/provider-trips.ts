import type { Client } from '@gatehouse/client'
import { type ProviderReturn, startProvider } from '@gatehouse/client/providers'
import { useEffect, useRef, useState } from 'react'
import { type Mutation, useClient } from './hooks.ts'

// A trip to an identity provider leaves the page: what was open and typed waits in the storage of the tab.

type Purpose = 'link' | 'confirm'
export type NamedProvider = { id: string; name: string }

/** `asker`: who takes what comes back. `entries`: of `useTripState`. */
type Trip = {
  purpose: Purpose
  userId: string
  asker: string
  provider: NamedProvider
  path: string
  entries: Readonly<Record<string, unknown>>
}

type TripError = Exclude<ProviderReturn, { error: null }>['error']
export type Arrival = { ticket: string; error: null } | { ticket: null; error: TripError }

const tripKey = 'gatehouse_provider_trip'
const current = new Map<string, () => unknown>()
/** The ticket is in no storage. */
let arrived: (Trip & { arrival: Arrival }) | null = null

type Departure = { purpose: Purpose; asker: string; provider: NamedProvider }

/** Throws as `startProvider`. */
export async function leaveForProvider(client: Client, departure: Departure, signal: AbortSignal): Promise<void> {
  const { purpose, provider } = departure
  const path = location.pathname + location.search
  const url = await startProvider(client, { provider: provider.id, purpose, redirect: path, signal })
  const entries = Object.fromEntries([...current].map(([key, read]) => [key, read()]))
  const trip: Trip = { ...departure, userId: client.session.getSnapshot().user?.id ?? '', path, entries }
  sessionStorage.setItem(tripKey, JSON.stringify(trip))
  location.assign(url)
}

/** A log-in begins: nothing of an earlier trip counts. */
export const forgetTrip = (): void => sessionStorage.removeItem(tripKey)

/** Where the person left for a provider, which takes what came back. Null: that is a log-in. */
export function returnFromTrip(returned: ProviderReturn): string | null {
  const text = sessionStorage.getItem(tripKey)
  forgetTrip()
  if (returned.error === null && returned.purpose === 'login') return null
  if (text === null) return returned.error === null ? '/settings/security' : null
  const trip = JSON.parse(text) as Trip
  arrived = { ...trip, arrival: arrivalOf(trip, returned) }
  return trip.path
}

function arrivalOf({ purpose, provider }: Trip, returned: ProviderReturn): Arrival {
  if (returned.error !== null) return { ticket: null, error: returned.error }
  const isAsked = returned.purpose === purpose && returned.provider === provider.id
  return isAsked ? { ticket: returned.ticket, error: null } : { ticket: null, error: 'expired' }
}

const arrivedOf = (client: Client) => (arrived?.userId === client.session.getSnapshot().user?.id ? arrived : null)

/** What came back for `asker`, until it goes or drops it. */
export function useArrival(asker: string) {
  const client = useClient()
  const [arrival, setArrival] = useState(() => {
    const back = arrivedOf(client)
    return back?.asker === asker ? { ...back.arrival, provider: back.provider } : null
  })
  const forget = () => {
    if (arrived?.asker === asker) arrived = null
  }
  useEffect(() => forget, [asker])
  const drop = () => {
    // A new language shows the page anew.
    forget()
    setArrival(null)
  }
  return { arrival, drop }
}

/** State that a trip to a provider does not drop. No secrets: it waits in the storage of the tab. Null: usual state. */
export function useTripState<T>(key: string | null, initial: T) {
  const client = useClient()
  const state = useState<T>(() => {
    const entries = arrivedOf(client)?.entries ?? {}
    return key !== null && Object.hasOwn(entries, key) ? (entries[key] as T) : initial
  })
  const latest = useRef(initial)
  latest.current = state[0]
  useEffect(() => {
    if (key === null) return
    current.set(key, () => latest.current)
    return () => void current.delete(key)
  }, [key])
  return state
}

/** As `useText`. */
export function useTripText(key: string, initial = '', mutation?: Mutation) {
  const [value, setValue] = useTripState(key, initial)
  const onText = (text: string) => {
    setValue(text)
    mutation?.clear()
  }
  return { value, onText }
}
