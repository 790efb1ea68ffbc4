/** What this browser keeps. Without storage nothing outlives the page. */
export function recall(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Of a registration that waits for approval: registration-receipt.ts. */
export const receiptKey = 'gatehouse_registration'

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {}
}
