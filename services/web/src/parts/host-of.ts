/** The host of an origin, as people name an instance; text that is no origin stays as it is. */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin
}
