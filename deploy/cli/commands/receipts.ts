import { readFile } from 'node:fs/promises'
import { isReceiptGenuine } from '@gatehouse/auth'
import { keptReceipt, type KeptReceipt } from '@gatehouse/contracts'
import type { Command } from 'commander'
import { CommandFailure } from '../failure.ts'
import type { Define } from '../invocation.ts'
import { formatTime, table } from '../terminal.ts'

/** `receipts verify`: offline. It proves what an instance said, not what it did. Contract: 7, Receipts. */
export function defineReceiptCommands(program: Command, define: Define): void {
  const receipts = program.command('receipts').description('What other instances signed about deleted identities')
  define(
    receipts
      .command('verify')
      .argument('<file>', 'deletion-orders.json of an export, an answer with orders, or one receipt')
      .description('Checks the signatures in a file, without any instance; compare the keys with those published'),
    async (_invocation, _options, file) => {
      const found = listReceipts(await readJson(file))
      if (found.length === 0) throw new CommandFailure('usage', `${file} holds no receipt`)
      const checked = found.map((kept) => ({
        ...kept.receipt,
        publicKey: kept.publicKey,
        isGenuine: isReceiptGenuine(kept),
      }))
      const rows = checked.map(({ origin, homeUserId, mode, deletedAt, publicKey, isGenuine }) => [
        ...[isGenuine ? 'genuine' : 'FORGED', origin, homeUserId, mode, formatTime(deletedAt), publicKey],
      ])
      const text = table(['signature', 'instance', 'user', 'mode', 'deleted (UTC)', 'key'], rows)
      if (checked.every(({ isGenuine }) => isGenuine)) return { json: checked, text }
      throw new CommandFailure('failed', text)
    },
  )
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw new CommandFailure('usage', `cannot read ${file}: ${(cause as Error).message}`, cause)
  }
}

/** Wherever they stand in it. */
function listReceipts(value: unknown): KeptReceipt[] {
  if (typeof value !== 'object' || value === null) return []
  const kept = keptReceipt.safeParse(value)
  return kept.success ? [kept.data] : Object.values(value).flatMap(listReceipts)
}
