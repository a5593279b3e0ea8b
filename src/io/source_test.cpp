// Byte sources: every compression, in any piece size, damaged too; archives; digests.
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "ergon/io.hpp"

namespace ergon::io {
namespace {

std::string sample(std::size_t size) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < size) text += "{\"ts\": " + std::to_string(random() % 100000) + "},\n";
  text.resize(size);
  return text;
}

std::string gzip(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the zstd program does
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

struct Outcome {
  std::string text;
  std::optional<Error> error;
};
Outcome drain(ByteSource& source, std::size_t piece) {
  Outcome out;
  std::string buffer(piece, '\0');
  for (;;) {
    auto got = source.read(buffer);
    if (!got) {
      out.error = std::move(got).error();
      return out;
    }
    if (*got == 0) return out;
    out.text.append(buffer, 0, *got);
  }
}

TEST(Source, EveryCompressionInEveryPieceSize) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{300000}}) {
    const std::string text = sample(size);
    const std::string packed[] = {text,
                                  gzip(text),
                                  zstd(text),
                                  gzip(text.substr(0, size / 2)) + gzip(text.substr(size / 2)),
                                  zstd(text.substr(0, size / 3)) + zstd(text.substr(size / 3)),
                                  gzip(text) + std::string(700, '\0')};
    for (std::size_t kind = 0; kind < std::size(packed); ++kind) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 20}) {
        if (piece == 1 && size > 5000) continue;
        const auto source = memory_source(packed[kind]);
        const Outcome out = drain(*source, piece);
        EXPECT_FALSE(out.error.has_value()) << kind << " " << out.error->message;
        EXPECT_EQ(out.text == text, true) << kind << " " << size << " " << piece;
        EXPECT_EQ(source->position(), size);
        EXPECT_EQ(source->record().bytes, packed[kind].size());
      }
    }
  }
}

TEST(Source, TruncatedStreamsGiveWhatTheyHold) {
  const std::string text = sample(100000);
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    for (std::size_t cut = 5; cut < packed.size(); cut += 97) {
      const auto source = memory_source(std::string_view(packed).substr(0, cut));
      const Outcome out = drain(*source, 4096);
      ASSERT_TRUE(out.error.has_value()) << cut;
      EXPECT_EQ(out.error->code, Errc::kMalformedInput);
      EXPECT_EQ(out.error->offset, out.text.size());
      EXPECT_TRUE(text.starts_with(out.text));
    }
  }
}

TEST(Source, DamagedStreamsEndWithAnError) {
  const std::string text = sample(50000);
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    for (std::size_t at = 12; at < packed.size(); at += 31) {
      std::string bad = packed;
      bad[at] = static_cast<char>(bad[at] ^ 0x55);
      const auto source = memory_source(bad);
      const Outcome out = drain(*source, 4096);
      EXPECT_TRUE(out.error.has_value() || out.text == text) << at;
    }
  }
  const auto source = memory_source(gzip("abc") + "trailing");
  const Outcome out = drain(*source, 10);
  EXPECT_EQ(out.text, "abc");
  EXPECT_TRUE(out.error.has_value());
}

TEST(Source, DigestOfTheBytesOnDisk) {
  // XXH3-64 of nothing, as xxhsum prints it.
  const auto empty = memory_source("");
  EXPECT_EQ(drain(*empty, 10).text, "");
  EXPECT_EQ(empty->record().digest, "2d06800538d394c2");
  const std::string packed = gzip(sample(1000));
  const auto a = memory_source(packed);
  const auto b = memory_source(packed);
  drain(*a, 1);
  drain(*b, 100000);
  EXPECT_EQ(a->record().digest, b->record().digest);
}

TEST(Source, OpenErrorsSayWhy) {
  EXPECT_EQ(open_source("/nonexistent/file").error().code, Errc::kIo);
  const auto folder = open_source(std::filesystem::temp_directory_path().string());
  ASSERT_FALSE(folder.has_value());
  EXPECT_NE(folder.error().message.find("folder"), std::string::npos);
}

// A ustar header and its content, padded.
std::string member(const std::string& name, const std::string& content, char type = '0') {
  std::string h(512, '\0');
  const auto put = [&h](std::size_t at, const std::string& text) {
    h.replace(at, text.size(), text);
  };
  const auto octal = [](std::size_t v, int width) {
    std::string s(static_cast<std::size_t>(width), '0');
    for (auto i = s.size(); i-- > 0; v /= 8) s[i] = static_cast<char>('0' + v % 8);
    return s;
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, octal(content.size(), 11));
  put(136, octal(0, 11));
  h[156] = type;
  put(257, std::string("ustar\00000", 8));
  put(148, "        ");
  std::size_t sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  return h + content + std::string((512 - content.size() % 512) % 512, '\0');
}

TEST(Tar, NamesMembersAndCompressedMembers) {
  const std::string long_name = "folder/" + std::string(150, 'n') + ".json";
  const std::string pax_name = "p/\xc3\xa4.json";
  const std::string record = " path=" + pax_name + "\n";
  const std::string archive = member("folder/", "", '5') + member("a.json", "{}") +
                              member("x", long_name + std::string(1, '\0'), 'L') +
                              member(long_name, sample(3000)) +
                              member("pax", std::to_string(record.size() + 2) + record, 'x') +
                              member("short", gzip("inside")) + std::string(1024, '\0');
  const auto source = memory_source(gzip(archive));
  std::string head(512, '\0');
  ASSERT_EQ(source->read(head).value_or(0), 512U);
  EXPECT_TRUE(TarReader::looks_like(head));
  const auto whole = prefixed_source(head, *source);
  TarReader tar(*whole);
  EXPECT_EQ(tar.next().value(), "a.json");
  EXPECT_EQ(drain(tar.member(), 7).text, "{}");
  EXPECT_EQ(tar.next().value(), long_name);
  std::string part(10, '\0');
  EXPECT_EQ(tar.member().read(part).value_or(0), 10U);  // the rest is skipped
  EXPECT_EQ(tar.next().value(), pax_name);
  const auto inner = nested_source(tar.member(), "inner");
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(drain(**inner, 3).text, "inside");
  EXPECT_EQ(tar.next().value(), std::nullopt);
  EXPECT_EQ(tar.next().value(), std::nullopt);
}

TEST(Tar, DamageIsAnError) {
  std::string archive = member("a.json", sample(2000)) + member("b.json", "{}");
  archive[512 + 2048 + 3] = 'X';  // in the second header
  const auto source = memory_source(archive);
  TarReader tar(*source);
  EXPECT_TRUE(tar.next().value().has_value());
  EXPECT_EQ(tar.next().error().code, Errc::kMalformedInput);
  const auto cut = memory_source(std::string_view(archive).substr(0, 1000));
  TarReader torn(*cut);
  EXPECT_TRUE(torn.next().value().has_value());
  EXPECT_TRUE(drain(torn.member(), 100).error.has_value());
  EXPECT_FALSE(TarReader::looks_like(std::string(512, '\0')));
  EXPECT_FALSE(TarReader::looks_like("short"));
}

}  // namespace
}  // namespace ergon::io
