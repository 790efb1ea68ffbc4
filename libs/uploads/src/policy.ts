export const policy = {
  /** Of the upload; of an animation, its first frame. Contract: 3, uploads. */
  imagePixelsMax: 40_000_000,
  imageSideMax: 512,
  /** One is converted at a time. */
  imageQueue: 32,
  imagesPerAccount: 2,
  /** Within the time that the gateway waits. */
  imageSeconds: 40,
  /** Resident memory of the conversion process. */
  imageMemoryBytes: 384 * 1024 * 1024,
  /** Before decoding: 60 to 70 MiB measured. */
  imageProcessBytes: 80 * 1024 * 1024,
  imageWatchMs: 10,
  imageRestartDelayMs: 1_000,
  imagesRetryAfterSeconds: 2,
  s3AnswerMs: 10_000,
  /** Of what is sent: the slowest line to S3 that is borne. */
  s3BytesPerMs: 50,
  s3Retries: 2,
} as const
