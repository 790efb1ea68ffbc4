import type { ProviderReturn } from '@gatehouse/client/providers'

const tripKey = 'gatehouse_provider_trip'

/** Where a person goes back to who linked an identity or confirmed something. Null: it is a login. */
export function returnFromTrip(_returned: ProviderReturn): string | null {
  return null
}

export function forgetTrip(): void {
  sessionStorage.removeItem(tripKey)
}
