import { readFile } from 'node:fs/promises'
import { isReceiptGenuine } from '@gatehouse/auth'
import { keptReceipt, type KeptReceipt } from '@gatehouse/contracts'
import { cannotRead, CommandFailure } from '../failure.ts'
import { formatTime, table, type DefineGroup, type Invocation, type Result } from '../invocation.ts'

/** `receipts verify`: offline. It proves what an instance said, not what it did. Contract: 7, Receipts. */
export function defineReceiptCommands(group: DefineGroup): void {
  const define = group('receipts', 'Work with signed receipts for deleted accounts')
  const description =
    'Verify the signatures in a file, offline; compare the keys with /api/federation/receipt-keys there'
  const file = 'deletion-orders.json from an export, an API response with orders, or a single receipt'
  define('verify', description, verifyReceipts).argument('<file>', file)
}

async function verifyReceipts(_invocation: Invocation, _options: object, file: string): Promise<Result> {
  const read = readFile(file, 'utf8').then((text) => JSON.parse(text) as unknown)
  const receipts = listReceipts(await read.catch(cannotRead(file)))
  if (receipts.length === 0) throw new CommandFailure('usage', `${file} holds no receipt`)
  const checked = receipts.map((entry) => {
    return { ...entry.receipt, publicKey: entry.publicKey, isGenuine: isReceiptGenuine(entry) }
  })
  const rows = checked.map(({ origin, homeUserId, mode, deletedAt, publicKey, isGenuine }) => {
    return [isGenuine ? 'genuine' : 'FORGED', origin, homeUserId, mode, formatTime(deletedAt), publicKey]
  })
  const text = table(['signature', 'instance', 'user', 'mode', 'deleted (UTC)', 'key'], rows)
  if (checked.every(({ isGenuine }) => isGenuine)) return { json: checked, text }
  throw new CommandFailure('failed', text)
}

/** Wherever they stand in it. */
function listReceipts(value: unknown): KeptReceipt[] {
  if (typeof value !== 'object' || value === null) return []
  const result = keptReceipt.safeParse(value)
  return result.success ? [result.data] : Object.values(value).flatMap(listReceipts)
}
