import { useEffect, useState } from 'react'

export type ImageFile = { blob: Blob | null; src: string | null; set: (blob: Blob | null) => void }

/** An image that was selected but not uploaded yet, with a URL to preview it. */
export function useImageFile(): ImageFile {
  const [blob, set] = useState<Blob | null>(null)
  const [src, setSrc] = useState<string | null>(null)
  useEffect(() => {
    const url = blob && URL.createObjectURL(blob)
    setSrc(url)
    return () => {
      if (url) URL.revokeObjectURL(url)
    }
  }, [blob])
  return { blob, src, set }
}
