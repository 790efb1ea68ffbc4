import type { Metadata } from 'sharp'

export type ImageHeader = Pick<Metadata, 'format' | 'width' | 'height' | 'isProgressive' | 'bitsPerSample'>

/** At most. A square is cut out of a copy of the whole picture, where that was not upright. */
export const decodingBytes = (header: ImageHeader, { isCropped = false } = {}): number =>
  header.width * header.height * (bytesPerPixel(header) + (isCropped ? 4 : 0))

/** Peaks measured with libvips 8.18 at 40 megapixels, rounded up. */
function bytesPerPixel({ format, isProgressive, bitsPerSample = 8 }: ImageHeader): number {
  // AVIF: 24 in 10 bits, 17.9 in 8 with alpha and whole chroma.
  if (format === 'heif') return bitsPerSample > 8 ? 25 : 18
  // Interlaced PNG: 9.5 in 16 bits, 5 in 8.
  if (format === 'png' && isProgressive) return 10
  // Progressive JPEG: 5.9 with whole chroma.
  if ((format === 'jpeg' && isProgressive) || format === 'gif') return 6
  // WebP 1.2, others less.
  return 2
}
