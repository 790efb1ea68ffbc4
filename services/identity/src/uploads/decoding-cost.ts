import type { Metadata } from 'sharp'

export type ImageHeader = Pick<Metadata, 'format' | 'width' | 'height' | 'isProgressive' | 'bitsPerSample'>

/** Peaks measured with libvips 8.18 at 40 megapixels, rounded up. */
const bytesPerPixel = {
  /** 17.9 with alpha and whole chroma. */
  avif: 18,
  /** 24 in 10 bits. */
  deepAvif: 25,
  /** 9.5 in 16 bits, 5 in 8. */
  interlacedPng: 10,
  /** 5.9 with whole chroma. */
  progressiveJpeg: 6,
  gif: 6,
  /** WebP 1.2, others less. */
  other: 2,
}

/** At most. */
export function decodingBytes(header: ImageHeader): number {
  return header.width * header.height * bytesPerPixel[decodingOf(header)]
}

function decodingOf({ format, isProgressive, bitsPerSample }: ImageHeader): keyof typeof bytesPerPixel {
  if (format === 'heif') return bitsPerSample !== undefined && bitsPerSample > 8 ? 'deepAvif' : 'avif'
  if (format === 'png' && isProgressive) return 'interlacedPng'
  if (format === 'jpeg' && isProgressive) return 'progressiveJpeg'
  return format === 'gif' ? 'gif' : 'other'
}
