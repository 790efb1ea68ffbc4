import type { Platform } from '@mikro-orm/core'
import { TextColumn } from './table.ts'

/** `open` also reads a text that was never sealed. */
export type TextSeal = { seal(plain: string): string; open(stored: string): string }

const seals = new WeakMap<Platform, TextSeal>()

/** For all sealed columns of the ORM. Without it they are read and written as they stand. */
export function useTextSeal(platform: Platform, seal: TextSeal): void {
  seals.set(platform, seal)
}

/** Encrypted in the database, plain in the entity. Contract: 8, ENCRYPTION_SECRET. */
export class SealedTextType extends TextColumn<string | null, string | null> {
  override convertToDatabaseValue(plain: string | null, platform: Platform): string | null {
    return plain ? (seals.get(platform)?.seal(plain) ?? plain) : plain
  }

  override convertToJSValue(stored: string | null, platform: Platform): string | null {
    return stored ? (seals.get(platform)?.open(stored) ?? stored) : stored
  }

  /** The same text is sealed anew each time. */
  override compareValues(one: string | null, other: string | null): boolean {
    const platform = this.platform
    return platform ? this.convertToJSValue(one, platform) === this.convertToJSValue(other, platform) : one === other
  }

  override ensureComparable(): boolean {
    return false
  }
}
