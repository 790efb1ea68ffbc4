import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { serveJobs } from '@gatehouse/child-process/serve-jobs'
import type { Square } from '@gatehouse/contracts'
import sharp, { type Metadata } from 'sharp'
import { policy } from './policy.ts'
import { decodingBytes } from './decoding-cost.ts'

/** `path`: the file as received. `target`: where its WebP is written. `crop`: what is left of it. */
export type ConversionJob = { id: number; path: string; target: string; crop?: Square }

export type Conversion = { bytes: number } | { refusal: 'image_unreadable' | 'image_too_large' | 'image_too_costly' }

/** No other decoder opens a file. */
const decoders = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((format) => `VipsForeignLoad${format}`)
const formats = new Set(['jpeg', 'png', 'webp', 'gif'])

async function convert({ path, target, crop }: ConversionJob): Promise<Conversion> {
  let image: Buffer
  try {
    // Reads the header only.
    const header = await sharp(path, { limitInputPixels: false }).metadata()
    const refusal = refusalOf(header, { isCropped: crop !== undefined })
    if (refusal) return { refusal }
    const upright = sharp(path, { limitInputPixels: policy.imagePixelsMax, failOn: 'error' }).autoOrient()
    image = await (crop ? upright.extract(regionOf(header, crop)) : upright)
      .resize({ width: policy.imageSideMax, height: policy.imageSideMax, fit: 'inside', withoutEnlargement: true })
      .webp()
      .toBuffer()
  } catch {
    return { refusal: 'image_unreadable' }
  }
  await writeFile(target, image)
  return { bytes: image.length }
}

/** The part of the square that the picture has. */
function regionOf({ autoOrient: { width, height } }: Metadata, { left, top, side }: Square) {
  const [x, y] = [Math.min(left, width - 1), Math.min(top, height - 1)]
  return { left: x, top: y, width: Math.min(side, width - x), height: Math.min(side, height - y) }
}

/** Judges by the header, before anything is decoded. Contract: 3, uploads. */
function refusalOf(header: Metadata, use: { isCropped: boolean }) {
  const isAvif = header.format === 'heif' && header.compression === 'av1'
  if (!isAvif && !formats.has(header.format)) return 'image_unreadable'
  if (header.width * header.height > policy.imagePixelsMax) return 'image_too_large'
  const budget = policy.imageMemoryBytes - policy.imageProcessBytes
  return decodingBytes(header, use) > budget ? 'image_too_costly' : undefined
}

try {
  writeFileSync('/proc/self/oom_score_adj', '1000') // without memory the kernel ends this process, not the service
} catch {
  // Other systems have none.
}
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: decoders })
sharp.concurrency(1)
sharp.cache(false)
serveJobs(convert)
