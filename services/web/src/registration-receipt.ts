import { recall, receiptKey, remember } from './browser-storage.ts'

/** Of a registration that waits for approval. `provider`: the identity provider that it came from. */
export type Receipt = { username: string; receipt: string; provider?: string }

export const keepReceipt = ({ username, receipt, provider }: Receipt): void =>
  remember(receiptKey, JSON.stringify({ username, receipt, provider }))

export const forgetReceipt = (): void => remember(receiptKey, '')

/** Who has an account waits no longer. */
export function forgetReceiptOf(username: string): void {
  if (readReceipt()?.username === username) forgetReceipt()
}

export function readReceipt(): Receipt | null {
  try {
    const { username, receipt, provider } = JSON.parse(recall(receiptKey) || 'null') as Receipt
    return typeof receipt === 'string' ? { username, receipt, ...(provider && { provider }) } : null
  } catch {
    return null
  }
}
